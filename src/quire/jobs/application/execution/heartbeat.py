"""Renews leases from a thread of its own, so that a handler that blocks the event loop cannot lose them, and ends
the process when a handler blocks it for good."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import math
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

import structlog

from quire.jobs.domain.lease import HeartbeatReply
from quire.jobs.ports.v1.lease_store import LeaseRenewer

# How long after its hard limit a job may still be in the table before the loop must be stuck.
STUCK_SECONDS = 10.0
EXIT_STUCK = 75

log = structlog.get_logger(__name__)


class Heartbeat:
    def __init__(
        self,
        open_renewer: Callable[[], LeaseRenewer],
        lease_seconds: float,
        on_reply: Callable[[HeartbeatReply], None],
        rescue: Callable[[frozenset[UUID]], Awaitable[None]],
    ) -> None:
        self._open_renewer = open_renewer
        self._lease_seconds = lease_seconds
        self._on_reply = on_reply
        self._rescue = rescue
        self._held: dict[UUID, tuple[int, float]] = {}  # fence, hard limit (monotonic)
        self._loop = asyncio.get_running_loop()
        self._thread_loop: asyncio.AbstractEventLoop | None = None
        self._poked: asyncio.Event | None = None
        self._stopping = False
        self._renewed_at = time.monotonic()
        self._thread = threading.Thread(target=self._main, name="heartbeat", daemon=True)

    @property
    def healthy(self) -> bool:
        """False once half a lease went by without a renewal: take no more work."""
        return not self._held or time.monotonic() - self._renewed_at < self._lease_seconds / 2

    def start(self) -> None:
        self._thread.start()

    def hold(self, job_id: UUID, fence: int, hard_at: float) -> None:
        if not self._held:
            self._renewed_at = time.monotonic()
        self._held[job_id] = (fence, hard_at)

    def hold_finished(self, job_id: UUID, fence: int) -> None:
        """The work is over and only its outcome is not written yet, which may take as long as the database is
        away: no time limit applies any more."""
        held = self._held.get(job_id)
        if held is not None and held[0] == fence:
            self._held[job_id] = (fence, math.inf)

    def drop(self, job_id: UUID, fence: int) -> None:
        """Only that attempt's lease: this worker may hold the job again under a later fence."""
        held = self._held.get(job_id)
        if held is not None and held[0] == fence:
            del self._held[job_id]

    def poke(self) -> None:
        """Renew now: a cancel may have been asked for."""
        if self._thread_loop is not None and self._poked is not None:
            # A loop that has closed by now has nothing left to renew.
            with contextlib.suppress(RuntimeError):
                self._thread_loop.call_soon_threadsafe(self._poked.set)

    def stop(self) -> None:
        # Before the poke: woken first, the thread could miss it and sleep for a third of a lease.
        self._stopping = True
        self.poke()
        self._thread.join(timeout=5.0)
        faulthandler.cancel_dump_traceback_later()

    def _main(self) -> None:
        asyncio.run(self._beat_forever())

    async def _beat_forever(self) -> None:
        self._thread_loop = asyncio.get_running_loop()
        self._poked = asyncio.Event()
        renewer = self._open_renewer()
        pause = self._lease_seconds / 3
        try:
            while not self._stopping:
                # Fires only if this thread cannot run at all: native code that keeps the interpreter lock.
                faulthandler.dump_traceback_later(max(60.0, 4 * self._lease_seconds), exit=True)
                await self._end_if_stuck()
                ok = await self._beat(renewer)
                await self._wait(pause if ok else min(1.0, pause))
        finally:
            await renewer.close()

    async def _wait(self, seconds: float) -> None:
        assert self._poked is not None
        try:
            async with asyncio.timeout(seconds):
                await self._poked.wait()
            self._poked.clear()
        except TimeoutError:
            pass

    async def _beat(self, renewer: LeaseRenewer) -> bool:
        held = [(job_id, fence) for job_id, (fence, _) in self._held.copy().items()]
        if not held:
            return True
        asked_at = time.monotonic()
        try:
            reply = await renewer.renew(held)
        except Exception as error:
            # Whatever it is, the leases were not renewed, and the worker must know.
            log.warning("heartbeat_failed", error=type(error).__name__, leases=len(held))
            return False
        self._renewed_at = asked_at
        if reply.lost or reply.cancel_requested:
            self._loop.call_soon_threadsafe(self._deliver, reply, dict(held))
        return True

    def _deliver(self, reply: HeartbeatReply, asked: Mapping[UUID, int]) -> None:
        """On the worker's loop. An answer about a fence that is no longer held says nothing about the current one."""
        lost = {job_id for job_id in reply.lost if self._held.get(job_id, (None,))[0] == asked[job_id]}
        self._on_reply(HeartbeatReply(frozenset(lost), reply.cancel_requested))

    async def _end_if_stuck(self) -> None:
        """The limiter on the event loop ends overdue jobs; one that is still held long after proves the loop is
        blocked. Its attempt is failed from here, the others are handed back, and the process dies: no other end
        of a blocked loop is certain."""
        deadline = time.monotonic() - STUCK_SECONDS
        overdue = frozenset(
            job_id for job_id, (_, hard_at) in self._held.copy().items() if hard_at < deadline
        )
        if not overdue:
            return
        log.error("event_loop_blocked", job_ids=[str(job_id) for job_id in overdue])
        faulthandler.dump_traceback()
        try:
            async with asyncio.timeout(STUCK_SECONDS):
                await self._rescue(overdue)
        finally:
            os._exit(EXIT_STUCK)
