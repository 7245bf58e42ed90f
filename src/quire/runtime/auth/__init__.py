"""Principals, API tokens and tenants. Revocations and disabled tenants take effect within five seconds."""

from quire.runtime.auth.admin_token import ensure_admin_token
from quire.runtime.auth.authenticator import Authenticator, TokenAuthenticator
from quire.runtime.auth.principal import (
    PLATFORM_SCOPE,
    RAW_HTML_SCOPE,
    ROLES,
    SCOPES,
    Principal,
    Role,
)
from quire.runtime.auth.requirement import Requirement, requirement_of, requires
from quire.runtime.auth.tenant_store import DEFAULT_TENANT, Tenant, TenantStore
from quire.runtime.auth.token_store import TokenGrant, TokenRecord, TokenStore
from quire.runtime.auth.usage_recorder import UsageRecorder

__all__ = [
    "DEFAULT_TENANT",
    "PLATFORM_SCOPE",
    "RAW_HTML_SCOPE",
    "ROLES",
    "SCOPES",
    "Authenticator",
    "Principal",
    "Requirement",
    "Role",
    "Tenant",
    "TenantStore",
    "TokenAuthenticator",
    "TokenGrant",
    "TokenRecord",
    "TokenStore",
    "UsageRecorder",
    "ensure_admin_token",
    "requirement_of",
    "requires",
]
