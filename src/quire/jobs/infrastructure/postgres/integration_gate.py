"""Outcomes of integrations and their breakers, shared by all workers through Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from quire.jobs.domain.breaker import BreakerState, state_after
from quire.jobs.domain.throttle import IntegrationPolicy
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.integration_gate import IntegrationStatus
from quire.runtime.database import Connection, Database

SQL = load("integrations.sql")


class PostgresIntegrationGate:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(
        self, policy: IntegrationPolicy, *, failed: bool, probe: bool, outage: bool = False
    ) -> BreakerState:
        if policy.breaker is None:
            return BreakerState.CLOSED
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(SQL["lock_integration"], policy.name)
            if row is None:
                return BreakerState.CLOSED
            await connection.execute(SQL["note_outcome"], policy.name, int(not failed), int(failed))
            window = await connection.fetchrow(
                SQL["window_counts"], policy.name, policy.breaker.window_seconds
            )
            assert window is not None
            state = BreakerState(row["breaker"])
            after = state_after(
                policy.breaker,
                state,
                window["successes"],
                window["failures"],
                probe=probe,
                failed=failed,
                outage=outage,
            )
            if after is not state:
                await self._move(connection, policy.name, after)
            return after

    async def _move(self, connection: Connection, name: str, after: BreakerState) -> None:
        await connection.execute(SQL["move_breaker"], name, after)
        if after is BreakerState.CLOSED:
            # A fresh start: failures from before the outage must not open it again at once.
            await connection.execute(SQL["clear_window"], name)

    async def status(self) -> Sequence[IntegrationStatus]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["list_integrations"])
        return [
            IntegrationStatus(
                row["name"],
                BreakerState(row["breaker"]),
                row["changed_at"],
                row["tokens"],
                row["successes"],
                row["failures"],
            )
            for row in rows
        ]
