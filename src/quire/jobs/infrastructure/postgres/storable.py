"""Tells what the database can never store from what it cannot store now."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import asyncpg

from quire.jobs.domain.errors import OutcomeUnstorableError

# Bad text or numbers (the driver's own checks among them), broken constraints, rows beyond the server's limits.
NEVER = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
)

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def storable(
    write: Callable[Given, Coroutine[Any, Any, Answer]],
) -> Callable[Given, Coroutine[Any, Any, Answer]]:
    @functools.wraps(write)
    async def wrapped(*arguments: Given.args, **named: Given.kwargs) -> Answer:
        try:
            return await write(*arguments, **named)
        except NEVER as error:
            # The driver's words show all the values, of all the jobs.
            raise OutcomeUnstorableError(f"the database refused it: {type(error).__name__}") from error

    return wrapped
