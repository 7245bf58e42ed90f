"""What follows when a job ends without success: an open problem, and the end of everything that waited for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from quire.jobs.domain.errors import DEPENDENCY_FAILED
from quire.jobs.domain.problem import recommend
from quire.jobs.infrastructure.postgres.sql import load
from quire.kernel import new_uuid7
from quire.runtime.database import Connection

SQL = load("leases.sql")


async def open_problems(connection: Connection, advice: Mapping[UUID, str]) -> None:
    """`advice`: failed job → recommendation."""
    if advice:
        problem_ids = [new_uuid7() for _ in advice]
        await connection.execute(SQL["open_problems"], list(advice), problem_ids, list(advice.values()))


async def fail_dependants(
    connection: Connection, ended: Sequence[UUID], keep_seconds: float, actor: str
) -> None:
    """Follows the chain: what waited for a job that this very loop failed, fails too."""
    while ended:
        rows = await connection.fetch(SQL["fail_dependants"], ended, keep_seconds, actor)
        ended = [row["id"] for row in rows]
        advice = recommend(DEPENDENCY_FAILED, transient=False)
        await open_problems(connection, dict.fromkeys(ended, advice))
