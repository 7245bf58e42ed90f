"""The caller, for a route: `async def list_jobs(principal: CurrentPrincipal)`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from quire.kernel import UnauthenticatedError
from quire.runtime.auth import Principal, require_role, require_scope
from quire.runtime.auth.principal import PLATFORM_SCOPE


async def _current(request: Request) -> Principal:
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):
        raise UnauthenticatedError("a valid token is required")
    return principal


CurrentPrincipal = Annotated[Principal, Depends(_current)]


async def _operator(principal: CurrentPrincipal) -> Principal:
    require_role(principal, "operator")
    return principal


async def _admin(principal: CurrentPrincipal) -> Principal:
    require_role(principal, "admin")
    return principal


async def _platform(principal: CurrentPrincipal) -> Principal:
    require_scope(principal, PLATFORM_SCOPE)
    return principal


OperatorPrincipal = Annotated[Principal, Depends(_operator)]
AdminPrincipal = Annotated[Principal, Depends(_admin)]
PlatformPrincipal = Annotated[Principal, Depends(_platform)]
