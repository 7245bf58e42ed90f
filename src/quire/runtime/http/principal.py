"""The caller, for a route: `caller: Annotated[Principal, allowed(pause_queue)]`. The route says which use case it
serves; role and scope are the use case's to declare. `CurrentPrincipal` is any caller with a valid token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request

from quire.kernel import UnauthenticatedError
from quire.runtime.auth import Principal, Requirement, requirement_of

ANYBODY = Requirement("user")


def allowed(use_case: Callable[..., object]) -> Any:
    """A dependency: the caller, if the use case is for them. It runs before the body is looked at, so that whoever may
    not call a route learns nothing more from it."""
    requirement = requirement_of(use_case)

    async def admit(request: Request) -> Principal:
        caller = _principal_of(request)
        requirement.check(caller)
        return caller

    vars(admit)["requirement"] = requirement
    return Depends(admit)


def declared(requirement: Requirement) -> Any:
    """A dependency that only tells what a route requires, for one that checks its callers in another way."""

    async def tell() -> None:
        """Nothing to do with a request."""

    vars(tell)["requirement"] = requirement
    return Depends(tell)


async def _current(request: Request) -> Principal:
    return _principal_of(request)


def _principal_of(request: Request) -> Principal:
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):
        raise UnauthenticatedError("a valid token is required")
    return principal


vars(_current)["requirement"] = ANYBODY
CurrentPrincipal = Annotated[Principal, Depends(_current)]
