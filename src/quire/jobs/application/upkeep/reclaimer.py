"""Gives expired leases back. Every worker runs one: the UPDATE is conditional, so they cannot harm each other."""

from __future__ import annotations

import asyncio
import random

import structlog

from quire.jobs.application import metrics
from quire.jobs.application.transitions import note_transition
from quire.jobs.ports.v1.broker import WORK, Broker
from quire.jobs.ports.v1.lease_store import LeaseStore
from quire.kernel import QuireError

PAGE = 500

log = structlog.get_logger(__name__)


class Reclaimer:
    def __init__(self, store: LeaseStore, broker: Broker, every_seconds: float) -> None:
        self._store = store
        self._broker = broker
        self._every_seconds = every_seconds

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._every_seconds * (0.75 + random.random() / 2))
            try:
                while await self._page() == PAGE:
                    pass
            except QuireError as error:
                log.warning("reclaim_failed", error_code=error.code)

    async def _page(self) -> int:
        reclaimed = await self._store.reclaim(PAGE)
        if reclaimed.total:
            log.warning(
                "reclaim", requeued=reclaimed.requeued, failed=reclaimed.failed, cancelled=reclaimed.cancelled
            )
            metrics.RECLAIMED.labels("queued").inc(reclaimed.requeued)
            metrics.RECLAIMED.labels("failed").inc(reclaimed.failed)
            metrics.RECLAIMED.labels("cancelled").inc(reclaimed.cancelled)
            for move in reclaimed.moves:
                note_transition(move)
            self._broker.announce(WORK)
        return reclaimed.total
