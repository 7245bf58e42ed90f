"""Principals, API tokens and tenants."""

from quire.runtime.auth.principal import (
    PLATFORM_SCOPE,
    ROLES,
    Principal,
    Role,
    require_role,
    require_scope,
)

__all__ = ["PLATFORM_SCOPE", "ROLES", "Principal", "Role", "require_role", "require_scope"]
