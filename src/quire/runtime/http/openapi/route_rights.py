"""What each route of an application asks of its caller, read from what its use case declares. A route that declares
nothing, and is not among the open ones, is refused when the application is assembled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import BaseRoute

from quire.runtime.auth import Requirement

OPEN = "open"
_CONVERTER = re.compile(r":[a-z]+\}")


@dataclass(frozen=True, slots=True)
class RouteRight:
    method: str
    path: str
    requirement: Requirement | None
    is_open: bool

    @property
    def role(self) -> str | None:
        return self.requirement.role if self.requirement else None

    @property
    def scope(self) -> str | None:
        return self.requirement.scope if self.requirement else None


def rights_of(app: FastAPI) -> Iterator[RouteRight]:
    """Paths as the guide writes them: `/jobs/{job_id}`."""
    for context in iter_route_contexts(app.routes):
        requirement = _requirement_of(context.original_route)
        for method in sorted(context.methods or ()):
            opened = requirement is None and (method, context.path) in app.state.open_operations
            yield RouteRight(method, _CONVERTER.sub("}", context.path or ""), requirement, opened)


def refuse_undeclared(router: APIRouter) -> None:
    for context in iter_route_contexts(router.routes):
        if _requirement_of(context.original_route) is None:
            raise TypeError(f"{context.path}: its caller is nobody's; take `caller` by `allowed(use_case)`")


def _requirement_of(route: BaseRoute) -> Requirement | None:
    if not isinstance(route, APIRoute):
        return None
    return next(_declared_in(route.dependant), None)


def _declared_in(dependant: Dependant) -> Iterator[Requirement]:
    for inner in dependant.dependencies:
        found = vars(inner.call).get("requirement") if inner.call is not None else None
        if isinstance(found, Requirement):
            yield found
        yield from _declared_in(inner)
