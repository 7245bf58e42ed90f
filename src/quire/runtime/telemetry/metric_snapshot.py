"""What a process counted up to a moment, as plain figures that can be stored, added and subtracted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import Metric

from quire.runtime.telemetry.metrics import is_added_up

Labels = tuple[tuple[str, str], ...]
Series = tuple[str, Labels]


@dataclass(frozen=True, slots=True)
class Family:
    type: str
    documentation: str
    figures: dict[Series, float] = field(default_factory=dict)


Snapshot = Mapping[str, Family]
"""Families by name."""


def take_snapshot(families: Iterable[Metric]) -> Snapshot:
    """Only what adds up over processes. Times of creation do not."""
    return {
        family.name: Family(
            family.type,
            family.documentation,
            {
                _series(sample.name, sample.labels): sample.value
                for sample in family.samples
                if not sample.name.endswith("_created")
            },
        )
        for family in families
        if is_added_up(family)
    }


def without_gauges(snapshot: Snapshot) -> Snapshot:
    """What remains of a process that ended."""
    return {name: family for name, family in snapshot.items() if family.type != "gauge"}


def add(snapshots: Iterable[Snapshot]) -> Snapshot:
    """The first one names and describes a family, so pass one's own first. A release may change the bounds of a
    histogram: bounds that not all have are left out, since the counts below them cannot be added."""
    found: dict[str, list[Family]] = defaultdict(list)
    for snapshot in snapshots:
        for name, family in snapshot.items():
            found[name].append(family)
    return {
        name: _sum([one for one in family if one.type == family[0].type]) for name, family in found.items()
    }


def subtract(snapshot: Snapshot, base: Snapshot) -> Snapshot:
    """What was counted since `base`. A gauge is a level, and stays."""
    return {name: _since(family, base.get(name)) for name, family in snapshot.items()}


def to_families(snapshot: Snapshot) -> list[Metric]:
    families = []
    for name, family in snapshot.items():
        metric = Metric(name, family.documentation, family.type)
        for (sample, labels), value in family.figures.items():
            metric.add_sample(sample, dict(labels), value)
        families.append(metric)
    return families


def to_json(snapshot: Snapshot) -> dict[str, Any]:
    return {
        name: {
            "type": family.type,
            "help": family.documentation,
            "figures": [[sample, dict(labels), value] for (sample, labels), value in family.figures.items()],
        }
        for name, family in snapshot.items()
    }


def from_json(stored: Mapping[str, Any]) -> Snapshot:
    return {
        name: Family(
            family["type"],
            family["help"],
            {_series(sample, labels): float(value) for sample, labels, value in family["figures"]},
        )
        for name, family in stored.items()
    }


def _series(sample: str, labels: Mapping[str, str]) -> Series:
    """Sorted: the database keeps no order of labels."""
    return sample, tuple(sorted(labels.items()))


def _sum(families: list[Family]) -> Family:
    total: dict[Series, float] = {}
    shared = _shared_bounds(families)
    for family in families:
        for series, value in family.figures.items():
            bound = _bound(series)
            if bound is None or bound in shared:
                total[series] = total.get(series, 0.0) + value
    return Family(families[0].type, families[0].documentation, total)


def _shared_bounds(families: list[Family]) -> set[str]:
    every = [{bound for series in family.figures if (bound := _bound(series))} for family in families]
    known = [bounds for bounds in every if bounds]
    return set.intersection(*known) if known else set()


def _bound(series: Series) -> str | None:
    sample, labels = series
    return dict(labels).get("le") if sample.endswith("_bucket") else None


def _since(family: Family, base: Family | None) -> Family:
    if base is None or family.type == "gauge":
        return family
    figures = {series: value - base.figures.get(series, 0.0) for series, value in family.figures.items()}
    return Family(family.type, family.documentation, figures)
