"""The limit: the engine's own claim and completion, driven by pgbench instead of Python."""

from __future__ import annotations

import re
import statistics
import subprocess
import tempfile

from bench.arena import Arena, Contestant
from bench.field import Field
from bench.measures.throughput import jobs_per_second
from bench.quire_runner import QUEUE
from bench.report import Row
from bench.servers import POSTGRES_PROGRAMS
from quire.jobs.infrastructure.postgres.sql import load

TPS = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)
CLIENTS = (1, 2, 4)
NOBODY = "'00000000-0000-0000-0000-000000000001'::uuid"


def rows(field: Field) -> list[Row]:
    """Our worker and pgbench in turn; its best number of clients is what machine and statements can do."""
    ours: list[float] = []
    limits: dict[int, list[float]] = {clients: [] for clients in CLIENTS}
    for _ in range(field.scale.rounds):
        ours.append(jobs_per_second(field.arena, field.ours, field.scale.jobs, field.scale.window_seconds))
        for clients, seen in limits.items():
            seen.append(limit_jobs_per_second(field.arena, field.ours, field.scale.jobs, clients))
    medians = {clients: statistics.median(seen) for clients, seen in limits.items()}
    best = max(medians, key=medians.__getitem__)
    return [
        Row(
            "share of the limit, jobs/s",
            statistics.median(ours),
            f"pgbench, clients: {clients}",
            rate,
            0.6 if clients == best else None,
            note="the limit" if clients == best else "",
        )
        for clients, rate in medians.items()
    ]


def limit_jobs_per_second(arena: Arena, contestant: Contestant, jobs: int, clients: int) -> float:
    """Each pgbench transaction claims a batch and completes it; together they drain what was preloaded."""
    batch = int(contestant.options["batch"])
    with arena.producer(contestant) as producer, tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        producer.ask("batches", count=jobs)
        script.write(claim_and_complete(batch, QUEUE))
        script.flush()
        rounds = jobs // (batch * clients)
        command = [
            str(POSTGRES_PROGRAMS / "pgbench"),
            "--no-vacuum",
            "--protocol=prepared",
            f"--file={script.name}",
        ]
        command += [f"--client={clients}", "--jobs=1", f"--transactions={rounds}", arena.dsn(contestant)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = TPS.search(done.stdout)
    assert found is not None, done.stdout + done.stderr
    return float(found[1]) * batch


def claim_and_complete(batch: int, queue: str) -> str:
    statements = load("leases.sql")
    nothing = "array_fill(NULL::text, ARRAY[cardinality(:ids::uuid[])])"
    numbers = "array_fill({}, ARRAY[cardinality(:ids::uuid[])])"
    claim = aggregated(statements["claim_lanes"])
    arguments = {
        "1": NOBODY,
        "2": ":ids",
        "3": ":fences",
        "4": nothing,
        "5": nothing,
        "6": numbers.format("1"),
        "7": numbers.format("3600::float8"),
        "8": numbers.format("NULL::bigint"),
        "9": nothing,
    }
    complete = filled(statements["complete_jobs"], arguments)
    release = filled(statements["release_dependants"], {"1": f"{NOBODY}::text", "2": ":ids"})
    lane = {"2": f"ARRAY['{queue}']", "3": "ARRAY[0]", "4": f"ARRAY[{batch}]"}
    first = filled(claim, {"1": NOBODY, **lane, "5": str(batch), "6": "60.0"})
    return f"{first} \\gset\nBEGIN;\n{complete};\n{release};\nCOMMIT;\n"


def aggregated(claim: str) -> str:
    """The claim with its rows folded into two arrays, for pgbench keeps one row only."""
    head, _, _ = claim.rpartition("\nSELECT")
    return f"{head}\nSELECT array_agg(id)::text AS ids, array_agg(fence)::text AS fences FROM claimed"


def filled(statement: str, arguments: dict[str, str]) -> str:
    return re.sub(r"\$(\d+)", lambda found: arguments[found[1]], statement)
