"""The metrics of all processes as one: what the API's /metrics shows. Counters and histograms are sums over every
process there ever was; gauges are this process's view of the installation, which it keeps fresh."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from quire.kernel import QuireError
from quire.runtime.database import DatabaseUnavailableError
from quire.runtime.telemetry.metric_shipper import MetricShipper
from quire.runtime.telemetry.metric_snapshot import Snapshot, add, to_families
from quire.runtime.telemetry.metric_store import MetricStore
from quire.runtime.telemetry.metrics import REGISTRY, is_added_up, render_metrics

ANSWER_SECONDS = 2.0

log = structlog.get_logger(__name__)


class InstallationMetrics:
    def __init__(self, store: MetricStore, shipper: MetricShipper) -> None:
        self._store = store
        self._shipper = shipper
        self._others: Sequence[Snapshot] | None = None

    async def render(self, accept: str) -> tuple[bytes, str]:
        gauges = [family for family in REGISTRY.collect() if not is_added_up(family)]
        return render_metrics(accept, [*to_families(await self._total()), *gauges])

    async def _total(self) -> Snapshot:
        """What the database has and nothing else, so that all API processes answer alike: a scraper that is passed
        from one to another must not see a counter go back. While the database is away: the others as last seen."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                own = await self._read()
        except (QuireError, TimeoutError) as error:
            if self._others is None:
                # Zero now and a million later would be a million in one moment on every chart.
                raise DatabaseUnavailableError("counts of the other processes cannot be read") from error
            log.warning("metrics_of_others_not_read", error=str(error))
            own = self._shipper.current()
        return add([own, *(self._others or ())])

    async def _read(self) -> Snapshot:
        await self._shipper.ship()
        stored = {one.process_id: one.snapshot for one in await self._store.read()}
        own = stored.pop(self._shipper.process_id, {})
        self._others = list(stored.values())
        return own
