"""What a caller may see: users their own jobs, operators their tenant's, the scope platform every tenant's."""

from __future__ import annotations

from quire.jobs.ports.v1.job_board import Sight
from quire.kernel import ForbiddenError
from quire.runtime.auth import PLATFORM_SCOPE, Principal


def sight_of(caller: Principal, tenant_id: str | None = None) -> Sight:
    """`tenant_id`: only this one, if the caller may look there."""
    own_only = None if caller.has_role("operator") else caller.id
    if caller.has_scope(PLATFORM_SCOPE):
        return Sight(tenant_id, own_only)
    if tenant_id not in (None, caller.tenant_id):
        raise ForbiddenError("another tenant's work needs the scope platform", code="SCOPE_REQUIRED")
    return Sight(caller.tenant_id, own_only)
