"""Rows of a bench, the table a person reads and the JSON line a gate reads. Decides nothing but `holds`."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import platform
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Row:
    """One comparison. `bar` is the least ratio that holds, or the greatest when `lower_is_better`."""

    measure: str
    quire: float
    peer: str
    peer_value: float
    bar: float | None = None
    lower_is_better: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.quire / self.peer_value if self.peer_value else math.nan

    @property
    def holds(self) -> bool | None:
        if self.bar is None:
            return None
        return self.ratio <= self.bar if self.lower_is_better else self.ratio >= self.bar

    def as_json(self) -> dict[str, object]:
        return {
            "measure": self.measure,
            "quire": rounded(self.quire),
            "peer": self.peer,
            "peer_value": rounded(self.peer_value),
            "ratio": rounded(self.ratio),
            "bar": self.bar,
            "holds": self.holds,
            **({"note": self.note} if self.note else {}),
        }


def rounded(value: float) -> float | None:
    return None if math.isnan(value) or math.isinf(value) else float(f"{value:.4g}")


def shown(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in [header, *lines]) for column in range(len(header))]
    ruled = [header, ["-" * width for width in widths], *lines]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in ruled
    )


def verdict(row: Row) -> str:
    return {None: "", True: "holds", False: "FALLS SHORT"}[row.holds]


def bar_text(row: Row) -> str:
    return "" if row.bar is None else f"{'≤' if row.lower_is_better else '≥'} {row.bar:g}"


def machine() -> str:
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{platform.machine()}, {os.cpu_count()} cores, {system}"


def publish(bench: str, rows: Sequence[Row]) -> None:
    lines = [
        [
            row.measure,
            shown(row.quire),
            row.peer,
            shown(row.peer_value),
            shown(row.ratio),
            bar_text(row),
            verdict(row),
            row.note,
        ]
        for row in rows
    ]
    print(f"\n{bench} on {machine()}")
    print(table(["measure", "quire", "peer", "peer value", "ratio", "bar", "", "note"], lines))
    print(json.dumps({"bench": bench, "rows": [row.as_json() for row in rows]}), flush=True)
