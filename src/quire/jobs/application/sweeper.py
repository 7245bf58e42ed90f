"""Cleans up what has outlived its use: artifacts past their time, stray bytes, old timelines. One at a time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
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
PAGES_MAX = 200
KEPT_MAX = 10
# A pending artifact older than this, whose attempt is over, belongs to nobody.
STRAY_SECONDS = 60.0

log = structlog.get_logger(__name__)


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
        expired = await self._expire_pages()
        strays = await self._remove_strays()
        keep = self._policies.retention
        pruned = await self._expiry.prune(keep.event_days, keep.job_days, 10 * PAGE)
        log.info("sweep", expired=expired, stray_artifacts=strays, pruned=pruned)

    async def _expire_pages(self) -> int:
        """Bytes first, then the row: a sweep that dies in between starts over and finds the bytes gone."""
        expired = 0
        for _ in range(PAGES_MAX):
            due = await self._expiry.due(PAGE)
            artifacts = await self._expiry.artifacts_of(due)
            kept = await self._delete_bytes([key for _, key in artifacts])
            stuck = {job_id for job_id, key in artifacts if key in kept}
            done = await self._expiry.expire([job_id for job_id in due if job_id not in stuck], ROLE)
            expired += len(done)
            for kind in done:
                note_transition(Transition(kind, JobState.EXPIRED))
            if not done or not await self._registry.take_role(ROLE, self._holder, ROLE_LEASE_SECONDS):
                break
        return expired

    async def _remove_strays(self) -> int:
        keys = await self._expiry.stray_artifacts(PAGE, STRAY_SECONDS)
        kept = await self._delete_bytes(keys)
        gone = [key for key in keys if key not in kept]
        await self._expiry.forget_artifacts(gone)
        return len(gone)

    async def _delete_bytes(self, keys: Sequence[str]) -> set[str]:
        """The keys whose bytes would not go. A few of them hold nobody up; many mean that the storage is down."""
        kept: set[str] = set()
        for key in keys:
            try:
                await self._artifacts.delete_bytes(key)
            except QuireError as error:
                log.warning("artifact_not_deleted", artifact_key=key, error_code=error.code)
                kept.add(key)
                if len(kept) > KEPT_MAX:
                    raise
        return kept
