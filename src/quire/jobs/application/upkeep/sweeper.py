"""Cleans up what has outlived its use: artifacts past their time, stray bytes, old timelines. One sweeper at a time,
in pages: until nothing is due, or its share of the time is used up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import structlog

from quire.jobs.application.transitions import note_transition
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.state import JobState
from quire.jobs.domain.transition import Transition
from quire.jobs.ports.v1.artifact_store import ArtifactStore
from quire.jobs.ports.v1.expiry_store import ExpiryStore
from quire.jobs.ports.v1.worker_registry import WorkerRegistry
from quire.kernel import QuireError

ROLE = "sweeper"
ROLE_LEASE_SECONDS = 120.0
PAGE = 500
# Each goes with all that hangs on it: one statement must end well before its timeout on a busy server.
PRUNE_PAGE = 1000
# A sweep may take this much of the time between two sweeps; what is left then is due again at the next one.
TIME_SHARE = 0.25
# Storage that answers slowly is asked for several deletions at once.
DELETIONS_AT_ONCE = 8
KEPT_MAX = 10
# A pending artifact older than this, whose attempt is over, belongs to nobody.
STRAY_SECONDS = 60.0

log = structlog.get_logger(__name__)

# How many were dealt with, and whether more are due.
Page = tuple[int, bool]
Chore = Callable[[], Awaitable[Page]]


class Sweeper:
    def __init__(
        self,
        holder: UUID,
        registry: WorkerRegistry,
        expiry: ExpiryStore,
        artifacts: ArtifactStore,
        policies: Policies,
        every_seconds: float,
    ) -> None:
        self._holder = holder
        self._registry = registry
        self._expiry = expiry
        self._artifacts = artifacts
        self._policies = policies
        self._every_seconds = every_seconds

    async def run(self) -> None:
        look_seconds = min(60.0, self._every_seconds)
        while True:
            await asyncio.sleep(look_seconds * (0.75 + random.random() / 2))
            try:
                await self.sweep_if_due()
            except QuireError as error:
                log.warning("sweep_failed", error_code=error.code)

    async def sweep_if_due(self) -> None:
        if not await self._registry.take_role(ROLE, self._holder, ROLE_LEASE_SECONDS):
            return
        try:
            if await self._registry.role_due(ROLE, self._every_seconds * 0.9):
                await self.sweep()
                await self._registry.note_role_run(ROLE, self._holder)
        finally:
            await self._registry.release_role(ROLE, self._holder)

    async def sweep(self) -> None:
        """One page of each chore in turn: a flood of one kind holds none of the others up, nor does one that fails."""
        left: dict[str, Chore] = {
            "expired": self._expire_page,
            "stray_artifacts": self._remove_strays,
            "pruned_events": self._prune_events,
            "pruned_jobs": self._prune_jobs,
            "pruned_ticks": self._prune_ticks,
        }
        done = dict.fromkeys(left, 0)
        errors: list[QuireError] = []
        stop_at = time.monotonic() + TIME_SHARE * self._every_seconds
        while left:
            for name, chore in list(left.items()):
                try:
                    count, more = await chore()
                except QuireError as error:
                    errors.append(error)
                    count, more = 0, False
                done[name] += count
                if not more:
                    del left[name]
            if left and (time.monotonic() >= stop_at or not await self._still_holds()):
                break
        await self._expiry.tidy()
        log.info("sweep", **done, unfinished=list(left))
        if errors:
            raise errors[0]

    async def _still_holds(self) -> bool:
        return await self._registry.take_role(ROLE, self._holder, ROLE_LEASE_SECONDS)

    async def _expire_page(self) -> Page:
        """Bytes first, then the row: a sweep that dies in between starts over and finds the bytes gone."""
        due = await self._expiry.due(PAGE)
        artifacts = await self._expiry.artifacts_of(due)
        kept = await self._delete_bytes([key for _, key in artifacts])
        stuck = {job_id for job_id, key in artifacts if key in kept}
        done = await self._expiry.expire([job_id for job_id in due if job_id not in stuck], ROLE)
        for kind in done:
            note_transition(Transition(kind, JobState.EXPIRED))
        return len(done), len(due) == PAGE and bool(done)

    async def _remove_strays(self) -> Page:
        keys = await self._expiry.stray_artifacts(PAGE, STRAY_SECONDS)
        kept = await self._delete_bytes(keys)
        gone = [key for key in keys if key not in kept]
        await self._expiry.forget_artifacts(gone)
        return len(gone), len(keys) == PAGE and bool(gone)

    async def _prune_events(self) -> Page:
        count = await self._expiry.prune_events(self._policies.retention.event_days, PRUNE_PAGE)
        return count, count == PRUNE_PAGE

    async def _prune_jobs(self) -> Page:
        count = await self._expiry.prune_jobs(self._policies.retention.job_days, PRUNE_PAGE)
        return count, count == PRUNE_PAGE

    async def _prune_ticks(self) -> Page:
        count = await self._expiry.prune_ticks(PRUNE_PAGE)
        return count, count == PRUNE_PAGE

    async def _delete_bytes(self, keys: Sequence[str]) -> set[str]:
        """The keys whose bytes would not go. They hold nobody up: raises only where many were tried and none went,
        which means that the storage is down."""
        kept: set[str] = set()
        for start in range(0, len(keys), DELETIONS_AT_ONCE):
            some = keys[start : start + DELETIONS_AT_ONCE]
            errors = await asyncio.gather(*(self._delete(key) for key in some))
            kept |= {key for key, error in zip(some, errors, strict=True) if error is not None}
            for error in errors:
                if error is not None and len(kept) == start + len(some) > KEPT_MAX:
                    raise error
        return kept

    async def _delete(self, key: str) -> QuireError | None:
        try:
            await self._artifacts.delete_bytes(key)
        except QuireError as error:
            log.warning("artifact_not_deleted", artifact_key=key, error_code=error.code)
            return error
        return None
