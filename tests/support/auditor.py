"""Compares what was accepted with what happened: rows, events, artifacts, bytes. Believes nobody."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs.application.upkeep.sweeper import Sweeper
from quire.jobs.domain.state import TRANSITIONS, JobState

LIST_PAGE = 1000
SHOWN = 15
# Reasons of a return to the queue that count neither as an attempt nor as a crash.
HANDED_BACK = {"shutdown", "throttled", "held", "runs_alone"}


@dataclass(frozen=True)
class Report:
    """What the timelines say of the whole run."""

    states: Counter[str]
    errors: Counter[tuple[str, str]]
    reclaims: int
    hand_backs: int
    retries: int


class Auditor:
    """Reads everything once, after the last job ended, and collects findings instead of stopping at the first.
    `storage_dir`: None where storage is no directory."""

    def __init__(self, engine: Engine, storage_dir: Path | None, accepted: Collection[UUID]) -> None:
        self._engine = engine
        self._storage_dir = storage_dir
        self._accepted = accepted
        self._findings: list[str] = []

    async def report(self) -> Report:
        await self._sweep()
        jobs = {row["id"]: row for row in await self._rows("SELECT * FROM jobs")}
        events = await self._rows("SELECT * FROM job_events ORDER BY event_no")
        self._check_acceptance(jobs)
        self._check_timelines(jobs, events)
        self._check_problems(jobs, await self._rows("SELECT * FROM problems WHERE user_decision IS NULL"))
        await self._check_artifacts(jobs, await self._rows("SELECT * FROM artifacts"))
        assert not self._findings, f"{len(self._findings)} findings: " + "; ".join(self._findings[:SHOWN])
        reasons = Counter(event["reason"] for event in events)
        return Report(
            states=Counter(row["state"] for row in jobs.values()),
            errors=Counter(
                (row["error_code"], row["error_message"]) for row in jobs.values() if row["error_code"]
            ),
            reclaims=reasons["lease_expired"],
            hand_backs=sum(reasons[reason] for reason in HANDED_BACK),
            retries=reasons["retry"],
        )

    def _note(self, subject: object, finding: str) -> None:
        self._findings.append(f"{subject}: {finding}")

    def _expect(self, holds: bool, subject: object, finding: str) -> None:
        if not holds:
            self._note(subject, finding)

    async def _rows(self, sql: str) -> list[asyncpg.Record]:
        async with self._engine.database.acquire() as connection:
            return await connection.fetch(sql)

    async def _sweep(self) -> None:
        """The engine's own sweep, an hour later: debris may wait for it, but not outlive it."""
        async with self._engine.database.acquire() as connection:
            await connection.execute(
                "UPDATE artifacts SET created_at = created_at - interval '1 hour' WHERE state = 'pending'"
            )
        parts = self._engine
        sweeper = Sweeper(uuid4(), parts.registry, parts.expiry, parts.artifacts, parts.policies, 3600.0)
        while await self._rows("SELECT 1 FROM artifacts WHERE state = 'pending' LIMIT 1"):
            before = await self._rows("SELECT count(*) AS n FROM artifacts WHERE state = 'pending'")
            await sweeper.sweep()
            after = await self._rows("SELECT count(*) AS n FROM artifacts WHERE state = 'pending'")
            assert after[0]["n"] < before[0]["n"], "the sweep leaves pending artifacts behind"
        # What a start of any process does: writers that died left their files here.
        await parts.storage.ensure_ready()

    # --- nothing lost, nothing added

    def _check_acceptance(self, jobs: dict[UUID, asyncpg.Record]) -> None:
        self._expect(len(set(self._accepted)) == len(self._accepted), "accepted", "one id was given twice")
        for job_id in set(self._accepted) - jobs.keys():
            self._note(job_id, "accepted and lost")
        for job_id in jobs.keys() - set(self._accepted):
            self._note(job_id, "never acknowledged, yet there")
        for job_id, job in jobs.items():
            self._expect(job["finished_at"] is not None, job_id, f"still {job['state']}")
            self._expect(job["leased_by"] is None, job_id, "still leased")

    # --- timelines

    def _check_timelines(self, jobs: dict[UUID, asyncpg.Record], events: Sequence[asyncpg.Record]) -> None:
        timelines: dict[UUID, list[asyncpg.Record]] = defaultdict(list)
        for event in events:
            timelines[event["job_id"]].append(event)
        for job_id in timelines.keys() - jobs.keys():
            self._note(job_id, "events without a job")
        for job_id, job in jobs.items():
            timeline = timelines[job_id]
            if timeline:
                self._check_chain(job, timeline)
                self._check_fences(job, timeline)
                self._check_counts(job, timeline)
            else:
                self._note(job_id, "no events")

    def _check_chain(self, job: asyncpg.Record, timeline: Sequence[asyncpg.Record]) -> None:
        self._expect(timeline[0]["from_state"] is None, job["id"], "does not begin with its acceptance")
        for event in timeline:
            source = JobState(event["from_state"]) if event["from_state"] else None
            allowed = JobState(event["to_state"]) in TRANSITIONS[source]
            self._expect(allowed, job["id"], f"{source} to {event['to_state']} is no edge")
        for before, after in pairwise(timeline):
            self._expect(
                before["to_state"] == after["from_state"],
                job["id"],
                f"{before['to_state']} is followed by a move from {after['from_state']}",
            )
        self._expect(timeline[-1]["to_state"] == job["state"], job["id"], "the row is not where events end")

    def _check_fences(self, job: asyncpg.Record, timeline: Sequence[asyncpg.Record]) -> None:
        """Each claim has a greater fence, and what ends an attempt carries the fence of its claim."""
        held = 0
        for event in timeline:
            if event["to_state"] == JobState.RUNNING:
                self._expect(event["fence"] > held, job["id"], f"fence {event['fence']} after {held}")
                held = event["fence"]
            else:
                self._expect(event["fence"] == held, job["id"], f"{event['to_state']} under a stale fence")
        self._expect(job["fence"] == held, job["id"], "the row's fence is not the last claim's")

    def _check_counts(self, job: asyncpg.Record, timeline: Sequence[asyncpg.Record]) -> None:
        successes = [event for event in timeline if event["to_state"] == JobState.SUCCEEDED]
        succeeded = int(job["state"] == JobState.SUCCEEDED)
        self._expect(len(successes) == succeeded, job["id"], f"{len(successes)} successes")
        # An approved restart counts anew.
        restarts = [place for place, event in enumerate(timeline) if event["reason"] == "restarted"]
        counted = timeline[restarts[-1] :] if restarts else timeline
        targets = Counter(event["to_state"] for event in counted)
        reasons = Counter(event["reason"] for event in counted)
        crashes = reasons["lease_expired"]
        self._expect(
            job["crash_count"] == crashes, job["id"], f"{crashes} crashes, {job['crash_count']} counted"
        )
        attempts = targets["running"] - crashes - sum(reasons[reason] for reason in HANDED_BACK)
        self._expect(job["attempt"] == attempts, job["id"], f"{attempts} attempts, {job['attempt']} counted")

    def _check_problems(self, jobs: dict[UUID, asyncpg.Record], problems: Sequence[asyncpg.Record]) -> None:
        open_problems = Counter(problem["job_id"] for problem in problems)
        for job_id, job in jobs.items():
            wanted = int(job["state"] == JobState.FAILED)
            found = open_problems[job_id]
            self._expect(found == wanted, job_id, f"{job['state']} with {found} open problems")

    # --- artifacts

    async def _check_artifacts(
        self, jobs: dict[UUID, asyncpg.Record], artifacts: Sequence[asyncpg.Record]
    ) -> None:
        by_job: dict[UUID, list[asyncpg.Record]] = defaultdict(list)
        for artifact in artifacts:
            self._expect(artifact["state"] == "ready", artifact["artifact_key"], "pending after the sweep")
            by_job[artifact["job_id"]].append(artifact)
        for job_id, job in jobs.items():
            result = json.loads(job["result"]) if isinstance(job["result"], str) else job["result"]
            stores = job["state"] == JobState.SUCCEEDED and isinstance(result, dict) and "sha256" in result
            found = by_job.pop(job_id, [])
            self._expect(len(found) == int(stores), job_id, f"{len(found)} artifacts")
            if stores and len(found) == 1:
                await self._check_artifact(job, result["sha256"], found[0])
        for job_id in by_job:
            self._note(job_id, "an artifact without a job")
        await self._check_storage({artifact["artifact_key"] for artifact in artifacts})

    async def _check_artifact(self, job: asyncpg.Record, promised: str, artifact: asyncpg.Record) -> None:
        key = artifact["artifact_key"]
        self._expect(job["artifact_key"] == key, job["id"], "points at another artifact")
        self._expect(artifact["fence"] == job["fence"], key, "made under a stale fence")
        try:
            data = await self._engine.storage.get_bytes(key, max_bytes=10_000_000)
        except Exception as error:
            self._note(key, f"no bytes: {type(error).__name__}")
            return
        digest = hashlib.sha256(data).hexdigest()
        self._expect(digest == artifact["sha256"] == promised, key, "the bytes are not what was promised")
        if job["kind"] == "jobs.store":
            payload = job["payload"]
            text = str(payload["text"]).encode() * int(payload.get("repeat", 1))
            self._expect(data == text, key, "the bytes are not what was asked for")

    async def _check_storage(self, known: set[str]) -> None:
        stored = set(await stored_keys(self._engine))
        for key in stored - known:
            self._note(key, "stray bytes")
        for key in known - stored:
            self._note(key, "no bytes in storage")
        if self._storage_dir is not None:
            for path in (self._storage_dir / ".incoming").iterdir():
                self._note(path.name, "a half-written file")


async def stored_keys(engine: Engine) -> list[str]:
    keys: list[str] = []
    while page := await engine.storage.list(limit=LIST_PAGE, after=keys[-1] if keys else ""):
        keys += [item.key for item in page]
    return keys


async def all_ended(
    engine: Engine, *, within_seconds: float = 60.0, watch: Callable[[], None] | None = None
) -> None:
    """Waits until no job is waiting, queued or running."""

    async def probe() -> bool:
        if watch is not None:
            watch()
        async with engine.database.acquire() as connection:
            left = await connection.fetchval(
                "SELECT count(*) FROM jobs WHERE state IN ('waiting', 'queued', 'running')"
            )
        return not left

    await eventually(probe, "the end of all jobs", within_seconds=within_seconds)
