"""What the worker costs over a bare call of the gateway: the same file, straight to the gateway and into a plain file,
and as jobs through a real worker process with Postgres. The bare call does the same work: it looks whether the answer
is XML, and syncs its file. Rows without a bar are beside one that takes any answer as it comes and syncs nothing. All
run in turns, so that a busy machine is busy for all, and a round is compared with itself: a row is the round whose
ratio is the middle one. `python -m bench.convert_overhead URL FILE` measures a gateway that runs already.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO
from uuid import UUID

from bench.report import Row
from bench.servers import end_on_sigterm, postgres, scratch
from quire.convert import AcceptanceDesk, create_conversion
from quire.convert.domain.conversion import KIND
from quire.convert.infrastructure.http.gateway_client import HttpGatewayClient
from quire.convert.infrastructure.libxml2.answer_check import PipedAnswerCheck
from quire.convert.ports.v1.gateway_client import PdfSource
from quire.entrypoints.convert import CONVERT_QUEUE, input_store, mapping_list
from quire.entrypoints.engine import Engine, open_engine
from quire.entrypoints.migrate import migrate
from quire.runtime.auth import Principal
from quire.runtime.settings import load_settings

BAR = 1.10
LANES = (1, 4)
RESULT_MAX_BYTES = 268_435_456
WHO = Principal("bench", "bench", "bench", "admin")
Keep = Callable[[AsyncIterator[bytes], IO[bytes]], Awaitable[None]]
TOOK = """
SELECT count(*) FILTER (WHERE state = 'succeeded') AS done,
       extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds
FROM jobs WHERE kind = $1 AND id = ANY ($2::uuid[])
"""
_numbers = itertools.count()


def rows(gateway_url: str, pdf: bytes, mapping: str, *, calls: int = 8, rounds: int = 9) -> list[Row]:
    """Blocks until it is measured: with one call at a time, and with as many as a worker makes by default. `calls` of a
    round, but no fewer than are made at once."""
    return [
        row for lanes in LANES for row in _rows(gateway_url, pdf, mapping, max(calls, lanes), rounds, lanes)
    ]


def _rows(gateway_url: str, pdf: bytes, mapping: str, calls: int, rounds: int, lanes: int) -> list[Row]:
    with scratch("convert") as directory, postgres() as server:
        dsn = f"{server}quire"
        names = {
            "DATABASE_URL": dsn,
            "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
            "GATEWAY_URL": gateway_url,
            "WORKER_QUEUES": CONVERT_QUEUE,
            "WORKER_CONCURRENCY": str(lanes),
            "QUIRE_LOG_LEVEL": "warning",
        }
        asyncio.run(migrate(dsn))
        with _worker(names, directory):
            times = asyncio.run(_measured(names, pdf, mapping, calls, rounds, lanes, directory))
    measure = f"seconds a conversion, {lanes} at once"
    through, checked, unchecked = zip(*times, strict=True)
    note = f"{rounds} rounds of {calls} calls, load {os.getloadavg()[0]:.1f}"
    return [
        _row(measure, through, "bare call, checked", checked, BAR, note),
        _row(measure, through, "bare call, unchecked", unchecked, None, note),
    ]


def _row(
    measure: str, ours: Sequence[float], peer: str, theirs: Sequence[float], bar: float | None, note: str
) -> Row:
    ratios = [through / bare for through, bare in zip(ours, theirs, strict=True)]
    middle = ratios.index(statistics.median_low(ratios))
    note = f"{min(ratios):.2f} to {max(ratios):.2f}, {note}"
    return Row(measure, ours[middle], peer, theirs[middle], bar, lower_is_better=True, note=note)


async def _measured(
    names: dict[str, str], pdf: bytes, mapping: str, calls: int, rounds: int, lanes: int, directory: Path
) -> list[tuple[float, float, float]]:
    """Seconds through the worker, by a checked call and by an unchecked one, of each round."""
    times = []
    async with open_engine(load_settings(**names), application="bench") as engine:
        bare = partial(_bare, names["GATEWAY_URL"], pdf, mapping, lanes, directory)
        await bare(2, keep=_checked)
        await _through(engine, names, pdf, mapping, 2)
        for _ in range(rounds):
            checked = await bare(calls, keep=_checked)
            through = await _through(engine, names, pdf, mapping, calls)
            times.append((through, checked, await bare(calls, keep=_unchecked)))
    return times


async def _bare(
    url: str, pdf: bytes, mapping: str, lanes: int, directory: Path, calls: int, *, keep: Keep
) -> float:
    """Seconds a call, by the worker's own client, into a file as a script would write it."""
    client = HttpGatewayClient(url, timeout_seconds=180, connections_max=lanes)
    left = iter(range(calls))

    async def call() -> None:
        for number in left:
            with (directory / f"bare-{number}.xml").open("wb") as file:
                await keep(client.process(mapping, _source(_variant(pdf))), file)

    began_at = time.monotonic()
    await asyncio.gather(*(call() for _ in range(lanes)))
    seconds = time.monotonic() - began_at
    await client.close()
    return seconds / calls


async def _checked(answer: AsyncIterator[bytes], file: IO[bytes]) -> None:
    """Known to be XML, and safe on the disk, when it returns."""
    with closing(PipedAnswerCheck(RESULT_MAX_BYTES)) as check:
        async for chunk in answer:
            await check.feed(chunk)
            file.write(chunk)
        await check.finish()
    file.flush()
    await asyncio.to_thread(os.fsync, file.fileno())


async def _unchecked(answer: AsyncIterator[bytes], file: IO[bytes]) -> None:
    async for chunk in answer:
        file.write(chunk)


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
