"""Tenants over HTTP, for the scope platform. A tenant is disabled and enabled, never deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict

from quire.kernel import ConflictError
from quire.runtime.auth import Tenant, TenantStore
from quire.runtime.http.cursor import decode_cursor, encode_cursor
from quire.runtime.http.page import Page, PageCursor, PageLimit
from quire.runtime.http.principal import PlatformPrincipal
from quire.runtime.http.strict_json import StrictRoute
from quire.runtime.http.token_routes import Label, TenantId

TenantInPath = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]


class TenantRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: TenantId
    name: Label | None = None


class TenantView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    created_at: datetime
    disabled_at: datetime | None


def tenant_routes(tenants: TenantStore) -> APIRouter:
    router = APIRouter(tags=["tenants"], route_class=StrictRoute)

    @router.post("/tenants", status_code=201)
    async def create_tenant(principal: PlatformPrincipal, request: TenantRequest) -> TenantView:
        return TenantView.model_validate(await tenants.create(request.id, request.name or request.id))

    @router.get("/tenants")
    async def list_tenants(
        principal: PlatformPrincipal, limit: PageLimit = 100, cursor: PageCursor = None
    ) -> Page[TenantView]:
        return _page(await tenants.page(after=_after(cursor), limit=limit), limit)

    @router.post("/tenants/{tenant_id}/disable")
    async def disable_tenant(principal: PlatformPrincipal, tenant_id: TenantInPath) -> TenantView:
        """Its tokens are refused everywhere within five seconds."""
        if tenant_id == principal.tenant_id:
            raise ConflictError("a tenant cannot disable itself", code="TENANT_IS_OWN")
        return TenantView.model_validate(await tenants.disable(tenant_id))

    @router.post("/tenants/{tenant_id}/enable")
    async def enable_tenant(principal: PlatformPrincipal, tenant_id: TenantInPath) -> TenantView:
        return TenantView.model_validate(await tenants.enable(tenant_id))

    return router


def _after(cursor: str | None) -> str | None:
    return str(decode_cursor(cursor, str)[0]) if cursor is not None else None


def _page(tenants: list[Tenant], limit: int) -> Page[TenantView]:
    views = [TenantView.model_validate(tenant) for tenant in tenants]
    return Page(items=views, next_cursor=encode_cursor(tenants[-1].id) if len(tenants) == limit else None)
