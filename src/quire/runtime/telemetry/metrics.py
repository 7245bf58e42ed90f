"""The process's one Prometheus registry. Contexts declare their metrics with `registry=REGISTRY`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)


def render_metrics(accept: str = "") -> tuple[bytes, str]:
    """The exposition and its content type, in the format the scraper asked for."""
    encode, content_type = choose_encoder(accept)
    return encode(REGISTRY), content_type
