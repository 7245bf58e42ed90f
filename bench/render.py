"""Rendering beside its peers, in one run on one machine: `python -m bench.render [--quick]`.

Quire answers over HTTP, queues in Postgres and syncs to disk; its peers only print, with the same browser set-up.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.render_client import client
from bench.render_documents import Invoices
from bench.render_field import FULL, QUICK, Field, Scale, load
from bench.render_measures import answers, documents, memory, repeat
from bench.render_peer import PEERS, lend_fonts
from bench.render_quire import QuireUp, quire_up
from bench.report import Row, publish
from bench.servers import end_on_sigterm, scratch

# Repeats first: a disk that still writes what thousands of documents left would be in them. Then memory, which counts
# the renders of a worker's life from the beginning; a few dozen have been by then.
MEASURES: dict[str, Callable[[Field], Awaitable[list[Row]]]] = {
    "repeat": repeat.rows,
    "memory": memory.rows,
    "answers": answers.rows,
    "documents": documents.rows,
}
CONCURRENCY = 4


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less work, one round, under a minute")
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--rounds", type=int, help="instead of the scale's own")
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY, help="documents printed at once")
    return parser.parse_args()


def scale_of(arguments: argparse.Namespace) -> Scale:
    scale = QUICK if arguments.quick else FULL
    return dataclasses.replace(scale, rounds=arguments.rounds or scale.rounds)


async def measured(arguments: argparse.Namespace, quire: QuireUp, directory: Path) -> list[Row]:
    invoices = Invoices()
    await invoices.write_html(directory / "html")
    rows: list[Row] = []
    async with client(quire.place) as caller:
        field = Field(quire, caller, invoices, PEERS, directory, scale_of(arguments), arguments.concurrency)
        for name in arguments.only:
            began_at = time.monotonic()
            found = await MEASURES[name](field)
            rows += found
            print(*(row.as_json() for row in found), sep="\n", flush=True)
            print(f"{name}: {time.monotonic() - began_at:.0f} s, {load()}", flush=True)
    return rows


def main() -> None:
    arguments = parsed()
    end_on_sigterm()
    with scratch("render") as directory:
        lend_fonts(directory)
        with quire_up(directory, arguments.concurrency) as quire:
            rows = asyncio.run(measured(arguments, quire, directory))
    publish("render", rows)


if __name__ == "__main__":
    main()
