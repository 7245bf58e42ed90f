"""The process's Prometheus registries. Contexts declare their metrics with `registry=REGISTRY`; `OWN` holds what is
true of this process alone: its memory, its CPU time, its garbage collector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Gauge, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

REGISTRY = CollectorRegistry(auto_describe=True)
OWN = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=OWN)
PlatformCollector(registry=OWN)
GCCollector(registry=OWN)

_ADDED_UP: set[str] = set()


def added_up(gauge: Gauge) -> Gauge:
    """Declares that each process has a share of this gauge and the installation has the sum. Every other gauge is
    either of the whole installation already, or of one process."""
    _ADDED_UP.update(family.name for family in gauge.describe())
    return gauge


def is_added_up(family: Metric) -> bool:
    return family.type in ("counter", "histogram") or family.name in _ADDED_UP


@dataclass(frozen=True, slots=True)
class Families(Collector):
    """Families that were collected before, for an encoder."""

    families: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families


def render_metrics(accept: str = "", families: Iterable[Metric] | None = None) -> tuple[bytes, str]:
    """The exposition and its content type, in the format the scraper asked for. Without `families`: what this process
    counted itself."""
    encode, content_type = choose_encoder(accept)
    shown = REGISTRY.collect() if families is None else families
    return encode(Families([*shown, *OWN.collect()])), content_type
