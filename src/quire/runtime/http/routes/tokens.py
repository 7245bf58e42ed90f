"""Tokens over HTTP: admins make, list and revoke their tenant's; the scope platform reaches all."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from quire.kernel import InvalidInputError
from quire.runtime.auth import Principal, Role, TokenGrant, TokenRecord, TokenStore
from quire.runtime.auth.tokens import create_token, list_tokens, revoke_token
from quire.runtime.http.cursor import decode_cursor, encode_cursor
from quire.runtime.http.page import Page, PageCursor, PageLimit
from quire.runtime.http.principal import CurrentPrincipal, allowed
from quire.runtime.http.strict_json import StrictRoute

LONGEST_LIFE = timedelta(days=3650)

TenantId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Label = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]
Scope = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.:-]{0,63}$")]


class TokenRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Label
    user: Label
    role: Role = "user"
    scopes: list[Scope] = Field(default=[], max_length=20)
    tenant_id: TenantId | None = Field(default=None, description="Another tenant than the caller's own.")
    expires_at: AwareDatetime | None = Field(default=None, description="At most ten years ahead.")


class TokenView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: uuid.UUID
    tenant_id: str
    user: str
    name: str
    prefix: str
    role: Role
    scopes: list[str]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewTokenView(TokenView):
    token: str = Field(description="Shown this once.")


class PrincipalView(BaseModel):
    id: str
    token_id: str
    user: str
    tenant_id: str
    role: Role
    scopes: list[str]


def token_routes(tokens: TokenStore) -> APIRouter:
    router = APIRouter(tags=["tokens"], route_class=StrictRoute)

    @router.get("/me")
    async def show_me(principal: CurrentPrincipal) -> PrincipalView:
        return PrincipalView(
            id=principal.id,
            token_id=principal.token_id,
            user=principal.user,
            tenant_id=principal.tenant_id,
            role=principal.role,
            scopes=sorted(principal.scopes),
        )

    @router.post("/tokens", status_code=201, name="create_token")
    async def create(
        caller: Annotated[Principal, allowed(create_token)], request: TokenRequest
    ) -> NewTokenView:
        """The answer holds the token itself; nothing can show it again."""
        record, parts = await create_token(tokens, caller, _grant(caller, request))
        view = TokenView.model_validate(record)
        return NewTokenView(**view.model_dump(), token=parts.text)

    @router.get("/tokens", name="list_tokens")
    async def list_(
        caller: Annotated[Principal, allowed(list_tokens)],
        limit: PageLimit = 100,
        cursor: PageCursor = None,
        tenant_id: Annotated[
            TenantId | None, Query(description="With platform scope: only this one.")
        ] = None,
    ) -> Page[TokenView]:
        """Newest first. With platform scope: the tokens of all tenants, unless one is named."""
        records = await list_tokens(tokens, caller, tenant_id, _after(cursor), limit)
        return _page(records, limit)

    @router.delete("/tokens/{token_id}", status_code=204, name="revoke_token")
    async def revoke(caller: Annotated[Principal, allowed(revoke_token)], token_id: uuid.UUID) -> None:
        """Refused everywhere within five seconds. Revoking twice is no error."""
        await revoke_token(tokens, caller, token_id)

    return router


def _grant(caller: Principal, request: TokenRequest) -> TokenGrant:
    return TokenGrant(
        tenant_id=request.tenant_id or caller.tenant_id,
        user=request.user,
        name=request.name,
        role=request.role,
        scopes=frozenset(request.scopes),
        expires_at=_checked_expiry(request.expires_at),
    )


def _checked_expiry(expires_at: datetime | None) -> datetime | None:
    if expires_at is None:
        return None
    now = datetime.now(UTC)
    if not now < expires_at <= now + LONGEST_LIFE:
        raise InvalidInputError("expires_at is past or more than ten years ahead", code="EXPIRY_INVALID")
    return expires_at


def _after(cursor: str | None) -> uuid.UUID | None:
    if cursor is None:
        return None
    (position,) = decode_cursor(cursor, str)
    try:
        return uuid.UUID(str(position))
    except ValueError:
        raise InvalidInputError("the cursor is not one this list gave", code="CURSOR_INVALID") from None


def _page(records: list[TokenRecord], limit: int) -> Page[TokenView]:
    views = [TokenView.model_validate(record) for record in records]
    full = len(records) == limit
    return Page(items=views, next_cursor=encode_cursor(str(records[-1].id)) if full else None)
