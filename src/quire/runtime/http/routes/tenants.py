"""Tenants over HTTP, for the scope platform. A tenant is disabled and enabled, never deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict

from quire.runtime.auth import Principal, Tenant, TenantStore
from quire.runtime.auth.tenants import create_tenant, disable_tenant, enable_tenant, list_tenants
from quire.runtime.http.cursor import decode_cursor, encode_cursor
from quire.runtime.http.page import Page, PageCursor, PageLimit
from quire.runtime.http.principal import allowed
from quire.runtime.http.routes.tokens import Label, TenantId
from quire.runtime.http.strict_json import StrictRoute

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

    @router.post("/tenants", status_code=201, name="create_tenant")
    async def create(
        caller: Annotated[Principal, allowed(create_tenant)], request: TenantRequest
    ) -> TenantView:
        name = request.name or request.id
        return TenantView.model_validate(await create_tenant(tenants, caller, request.id, name))

    @router.get("/tenants", name="list_tenants")
    async def list_(
        caller: Annotated[Principal, allowed(list_tenants)],
        limit: PageLimit = 100,
        cursor: PageCursor = None,
    ) -> Page[TenantView]:
        return _page(await list_tenants(tenants, caller, _after(cursor), limit), limit)

    @router.post("/tenants/{tenant_id}/disable", name="disable_tenant")
    async def disable(
        caller: Annotated[Principal, allowed(disable_tenant)], tenant_id: TenantInPath
    ) -> TenantView:
        """Its tokens are refused everywhere within five seconds."""
        return TenantView.model_validate(await disable_tenant(tenants, caller, tenant_id))

    @router.post("/tenants/{tenant_id}/enable", name="enable_tenant")
    async def enable(
        caller: Annotated[Principal, allowed(enable_tenant)], tenant_id: TenantInPath
    ) -> TenantView:
        return TenantView.model_validate(await enable_tenant(tenants, caller, tenant_id))

    return router


def _after(cursor: str | None) -> str | None:
    return str(decode_cursor(cursor, str)[0]) if cursor is not None else None


def _page(tenants: list[Tenant], limit: int) -> Page[TenantView]:
    views = [TenantView.model_validate(tenant) for tenant in tenants]
    return Page(items=views, next_cursor=encode_cursor(tenants[-1].id) if len(tenants) == limit else None)
