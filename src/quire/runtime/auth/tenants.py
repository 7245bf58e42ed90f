"""Making, listing, disabling and enabling tenants, for admins with the scope platform."""

from __future__ import annotations

from quire.kernel import ConflictError
from quire.runtime.auth.principal import PLATFORM_SCOPE, Principal
from quire.runtime.auth.requirement import requires
from quire.runtime.auth.tenant_store import Tenant, TenantStore


@requires("admin", scope=PLATFORM_SCOPE)
async def create_tenant(tenants: TenantStore, caller: Principal, tenant_id: str, name: str) -> Tenant:
    return await tenants.create(tenant_id, name)


@requires("admin", scope=PLATFORM_SCOPE)
async def list_tenants(
    tenants: TenantStore, caller: Principal, after: str | None, limit: int
) -> list[Tenant]:
    return await tenants.page(after=after, limit=limit)


@requires("admin", scope=PLATFORM_SCOPE)
async def disable_tenant(tenants: TenantStore, caller: Principal, tenant_id: str) -> Tenant:
    if tenant_id == caller.tenant_id:
        raise ConflictError("a tenant cannot disable itself", code="TENANT_IS_OWN")
    return await tenants.disable(tenant_id)


@requires("admin", scope=PLATFORM_SCOPE)
async def enable_tenant(tenants: TenantStore, caller: Principal, tenant_id: str) -> Tenant:
    return await tenants.enable(tenant_id)
