"""What the worker costs over a bare call of the gateway: the same file, straight to the gateway and into a plain file,
taken as it comes and synced by nobody, and as jobs through a real worker process with Postgres. Once as `quire up` runs
a worker, which believes its gateway, and once as one that knows nothing of its gateway and parses every answer. Both
run in turns, so that a busy machine is busy for both. A round is compared with itself, and a row is the round whose
ratio is the middle one. `python -m bench.convert_overhead URL FILE` measures a gateway that runs already.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

import structlog

from bench.report import Row
from bench.servers import end_on_sigterm, postgres, scratch
from quire.convert import AcceptanceDesk, create_conversion
from quire.convert.domain.conversion import KIND
from quire.convert.infrastructure.http.gateway_client import HttpGatewayClient
from quire.convert.ports.v1.gateway_client import PdfSource
from quire.entrypoints.convert import CONVERT_QUEUE, input_store, mapping_list
from quire.entrypoints.engine import Engine, open_engine
from quire.entrypoints.migrate import migrate
from quire.runtime.auth import Principal
from quire.runtime.settings import load_settings

BAR = 1.10
LANES = (1, 4)
WHO = Principal("bench", "bench", "bench", "admin")
TOOK = """
SELECT count(*) FILTER (WHERE state = 'succeeded') AS done,
       extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds
FROM jobs WHERE kind = $1 AND id = ANY ($2::uuid[])
"""
_numbers = itertools.count()


@dataclass(frozen=True)
class Contest:
    gateway_url: str
    pdf: bytes
    mapping: str
    calls: int
    rounds: int
    lanes: int
    is_trusted: bool

    @property
    def measure(self) -> str:
        return (
            f"seconds a conversion, {self.lanes} at once{'' if self.is_trusted else ', each answer parsed'}"
        )


def rows(
    gateway_url: str,
    pdf: bytes,
    mapping: str,
    *,
    calls: int = 8,
    rounds: int = 9,
    trusts: Sequence[bool] = (True, False),
) -> list[Row]:
    """Blocks until it is measured: with one call at a time, and with as many as a worker makes by default. `calls` of a
    round, but no fewer than are made at once."""
    silence()
    return [
        _row(Contest(gateway_url, pdf, mapping, max(calls, lanes), rounds, lanes, is_trusted))
        for is_trusted in trusts
        for lanes in LANES
    ]


def silence() -> None:
    """What is accepted here would be told between the lines of the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


def _row(contest: Contest) -> Row:
    with scratch("convert") as directory, postgres() as server:
        dsn = f"{server}quire"
        names = {
            "DATABASE_URL": dsn,
            "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
            "GATEWAY_URL": contest.gateway_url,
            "GATEWAY_TRUSTED": str(contest.is_trusted),
            "WORKER_QUEUES": CONVERT_QUEUE,
            "WORKER_CONCURRENCY": str(contest.lanes),
            "QUIRE_LOG_LEVEL": "warning",
        }
        asyncio.run(migrate(dsn))
        with _worker(names, directory):
            times = asyncio.run(_measured(contest, names, directory))
    ratios = [through / bare for through, bare in times]
    through, bare = times[ratios.index(statistics.median_low(ratios))]
    shown = f"{contest.rounds} rounds of {contest.calls} calls, load {os.getloadavg()[0]:.1f}"
    return Row(
        contest.measure,
        through,
        "bare call",
        bare,
        BAR,
        lower_is_better=True,
        note=f"{min(ratios):.2f} to {max(ratios):.2f}, {shown}",
    )


async def _measured(contest: Contest, names: dict[str, str], directory: Path) -> list[tuple[float, float]]:
    """Seconds through the worker and by a bare call, of each round; who begins changes from round to round."""
    times = []
    async with open_engine(load_settings(**names), application="bench") as engine:
        through = partial(_through, engine, names, contest.pdf, contest.mapping)
        bare = partial(_bare, contest, directory)
        await bare(2)
        await through(2)
        for number in range(contest.rounds):
            if number % 2:
                worked = await through(contest.calls)
                times.append((worked, await bare(contest.calls)))
            else:
                called = await bare(contest.calls)
                times.append((await through(contest.calls), called))
    return times


async def _bare(contest: Contest, directory: Path, calls: int) -> float:
    """Seconds a call, by the worker's own client, into a file as a script would write it."""
    client = HttpGatewayClient(contest.gateway_url, timeout_seconds=180, connections_max=contest.lanes)
    left = iter(range(calls))

    async def call() -> None:
        for number in left:
            source = _source(_variant(contest.pdf))
            with (directory / f"bare-{number}.xml").open("wb") as file:
                async with client.process(contest.mapping, source) as answer:
                    async for chunk in answer.chunks:
                        file.write(chunk)

    began_at = time.monotonic()
    await asyncio.gather(*(call() for _ in range(contest.lanes)))
    seconds = time.monotonic() - began_at
    await client.close()
    return seconds / calls


async def _through(engine: Engine, names: dict[str, str], pdf: bytes, mapping: str, calls: int) -> float:
    """Seconds a job, from the first claim to the last success, of jobs that all wait in a paused queue."""
    settings = load_settings(**names)
    inputs = input_store(settings, engine.storage)
    desk = AcceptanceDesk(engine.intake, inputs, mapping_list(settings), len(pdf) + 100, engine.storage)
    await engine.board.pause(CONVERT_QUEUE, "bench")
    ids = [(await create_conversion(desk, WHO, mapping, _once(_variant(pdf)))).job_id for _ in range(calls)]
    await engine.board.resume(CONVERT_QUEUE)
    return await _seconds(engine, ids) / calls


async def _seconds(engine: Engine, ids: list[UUID]) -> float:
    while True:
        async with engine.database.acquire() as connection:
            row = await connection.fetchrow(TOOK, KIND, ids)
        assert row is not None
        if row["done"] == len(ids):
            return float(row["seconds"])
        await asyncio.sleep(0.2)


def _variant(pdf: bytes) -> bytes:
    """Other bytes, the same document: equal work would be done once."""
    return pdf + b"\n%% %d\n" % next(_numbers)


def _source(pdf: bytes) -> PdfSource:
    return PdfSource(len(pdf), lambda: _once(pdf))


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


@contextmanager
def _worker(names: dict[str, str], directory: Path) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "quire", "worker"], env={**os.environ, **names}, cwd=directory
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    parser.add_argument("--mapping", default="alto")
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    end_on_sigterm()
    for row in rows(
        given.url, given.file.read_bytes(), given.mapping, calls=given.calls, rounds=given.rounds
    ):
        print(row.as_json())


if __name__ == "__main__":
    main()
