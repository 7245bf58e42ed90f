"""The contestants of a run: each measurement gets an empty store and processes of its own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg

from bench.engine_process import EngineProcess, Options
from bench.peer_env import peer_python

OURS = "quire"
OUR_MODULE = "bench.quire_runner"


@dataclasses.dataclass(frozen=True)
class Contestant:
    """One engine with its settings; `tries` are the settings among which its best is looked for."""

    name: str
    module: str
    store: str
    options: Options
    tries: tuple[Options, ...] = ()

    def with_options(self, **more: Any) -> Contestant:
        return dataclasses.replace(self, options={**self.options, **more})


CONTESTANTS = (
    Contestant(OURS, OUR_MODULE, "postgres", {"batch": 500}),
    Contestant(
        "procrastinate",
        "bench.peers.procrastinate",
        "postgres",
        {"concurrency": 30},
        tries=({"concurrency": 10}, {"concurrency": 30}),
    ),
    Contestant(
        "PgQueuer",
        "bench.peers.pgqueuer",
        "postgres",
        {"batch": 500},
        tries=({"batch": 250}, {"batch": 500}, {"batch": 1000}, {"batch": 2500}),
    ),
    Contestant(
        "Dramatiq/Redis",
        "bench.peers.dramatiq",
        "redis",
        {"threads": 16},
        tries=({"threads": 8}, {"threads": 16}, {"threads": 32}),
    ),
    Contestant("RQ/Redis", "bench.peers.rq", "redis", {}),
    Contestant(
        "Celery/Redis",
        "bench.peers.celery",
        "redis",
        {"pool": "solo"},
        tries=({"pool": "solo"}, {"pool": "threads", "threads": 4}, {"pool": "solo", "prefetch": 64}),
    ),
)


class Arena:
    """Hands out producers and workers. Copying a template makes an empty Postgres store cheap."""

    def __init__(self, postgres_dsn: str, redis_url: str) -> None:
        self.postgres_dsn = postgres_dsn
        self.redis_url = redis_url
        self._templates: set[str] = set()

    def dsn(self, contestant: Contestant) -> str:
        return self.postgres_dsn + database_name(contestant)

    @contextlib.contextmanager
    def producer(self, contestant: Contestant) -> Iterator[EngineProcess]:
        """A producer on an empty store."""
        if contestant.store == "postgres":
            self._copy_template(contestant)
            with self.process(contestant, "produce") as process:
                yield process
        else:
            with self.process(contestant, "produce") as process:
                process.ask("reset")
                yield process

    def process(self, contestant: Contestant, role: str, **more: Any) -> EngineProcess:
        options = {"redis": self.redis_url, "dsn": self.dsn(contestant), **contestant.options, **more}
        return EngineProcess(python_of(contestant), contestant.module, role, options)

    def _copy_template(self, contestant: Contestant) -> None:
        name, template = database_name(contestant), f"{database_name(contestant)}_template"
        if template not in self._templates:
            self.execute(f"CREATE DATABASE {template}")
            with self.process(contestant, "produce", dsn=self.postgres_dsn + template) as process:
                process.ask("reset")
            self._templates.add(template)
        self.await_alone(name)
        self.persist(f"DROP DATABASE IF EXISTS {name}")
        self.await_alone(template)
        self.persist(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")

    def await_alone(self, database: str) -> None:
        """A killed client's backend needs a moment to notice; a template may have no sessions."""
        self.execute(
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            f" WHERE datname = '{database}' AND backend_type = 'client backend'"
        )

    def persist(self, sql: str) -> None:
        """An autovacuum worker in the database may not be ended by us, and is gone in a moment."""
        for patience in range(100, -1, -1):
            try:
                self.execute(sql)
                return
            except asyncpg.ObjectInUseError:
                if not patience:
                    raise
                time.sleep(0.1)

    def execute(self, sql: str, database: str = "postgres") -> list[asyncpg.Record]:
        return asyncio.run(self._execute(sql, database))

    async def _execute(self, sql: str, database: str) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.postgres_dsn + database)
        try:
            return list(await connection.fetch(sql))
        finally:
            await connection.close()


def database_name(contestant: Contestant) -> str:
    return "bench_" + "".join(letter for letter in contestant.name.lower() if letter.isalnum())


def python_of(contestant: Contestant) -> Path:
    return Path(sys.executable) if contestant.module == OUR_MODULE else peer_python()
