"""Making, listing and revoking tokens: admins those of their tenant, the scope platform those of all."""

from __future__ import annotations

import uuid

from quire.kernel import ForbiddenError
from quire.runtime.auth.principal import PLATFORM_SCOPE, Principal
from quire.runtime.auth.requirement import requires
from quire.runtime.auth.token import TokenParts
from quire.runtime.auth.token_store import TokenGrant, TokenRecord, TokenStore


@requires("admin")
async def create_token(
    tokens: TokenStore, caller: Principal, grant: TokenGrant
) -> tuple[TokenRecord, TokenParts]:
    """Nobody can give a scope that they do not have."""
    _tenant_in_reach(caller, grant.tenant_id)
    if grant.scopes - caller.scopes:
        raise ForbiddenError("a token cannot get scopes its maker lacks", code="SCOPE_REQUIRED")
    return await tokens.create(grant, created_by=caller.id)


@requires("admin")
async def list_tokens(
    tokens: TokenStore, caller: Principal, tenant_id: str | None, after: uuid.UUID | None, limit: int
) -> list[TokenRecord]:
    return await tokens.page(_tenant_in_reach(caller, tenant_id), after=after, limit=limit)


@requires("admin")
async def revoke_token(tokens: TokenStore, caller: Principal, token_id: uuid.UUID) -> None:
    await tokens.revoke(token_id, _tenant_in_reach(caller, None))


def _tenant_in_reach(caller: Principal, tenant_id: str | None) -> str | None:
    """The tenant whose tokens the caller may touch; None for all."""
    if caller.has_scope(PLATFORM_SCOPE):
        return tenant_id
    if tenant_id not in (None, caller.tenant_id):
        raise ForbiddenError("another tenant's tokens need the scope platform", code="SCOPE_REQUIRED")
    return caller.tenant_id
