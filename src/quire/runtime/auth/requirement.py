"""What a use case asks of its caller: a role, and perhaps a scope. The use case declares it, and nothing else does:

    @requires("operator", scope=PLATFORM_SCOPE)
    async def pause_queue(board, policies, caller, name): ...

The check belongs to the use case, so no door leads around it. A route reads the declaration (`allowed` in
`runtime/http/principal.py`) to refuse before it looks at the body, and to be listed with it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from quire.kernel import ForbiddenError
from quire.runtime.auth.principal import Principal, Role

CALLER = "caller"

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Requirement:
    role: Role
    scope: str | None = None

    def check(self, caller: Principal) -> None:
        if not caller.has_role(self.role):
            raise ForbiddenError(f"this needs {self}", code="ROLE_REQUIRED")
        if self.scope is not None and not caller.has_scope(self.scope):
            raise ForbiddenError(f"this needs {self}", code="SCOPE_REQUIRED")

    def __str__(self) -> str:
        return f"the role {self.role}" + (f" and the scope {self.scope}" if self.scope else "")


def requires(
    role: Role, *, scope: str | None = None
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """For a function with a parameter `caller`; awaited or not, it is checked when it is called."""
    requirement = Requirement(role, scope)

    def declare(use_case: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        place = list(inspect.signature(use_case).parameters).index(CALLER)

        @functools.wraps(use_case)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            caller: Any = kwargs[CALLER] if CALLER in kwargs else args[place]
            requirement.check(caller)
            return use_case(*args, **kwargs)

        vars(run)["requirement"] = requirement
        return run

    return declare


def requirement_of(use_case: Callable[..., object]) -> Requirement:
    """TypeError for a use case that declares nothing."""
    declared = vars(use_case).get("requirement")
    if not isinstance(declared, Requirement):
        raise TypeError(
            f"{getattr(use_case, '__name__', use_case)} does not say who may call it: @requires(…)"
        )
    return declared
