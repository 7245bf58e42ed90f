"""The same document asked for again, beside its first render: one caller, an idle worker, one call each. The bar is for
repeats in a row; beside it the very first one, while worker and browser still tidy up after the render."""

from __future__ import annotations

import statistics
import time

from bench.render_documents import Payload
from bench.render_field import Field
from bench.report import Row

BAR = 20.0
IN_A_ROW = 5


async def rows(field: Field) -> list[Row]:
    first, at_once, in_a_row = [], [], []
    for _ in range(field.scale.repeats):
        payload = field.invoices.next_payload()
        first.append(await _seconds(field, payload))
        at_once.append(await _seconds(field, payload))
        in_a_row += [await _seconds(field, payload) for _ in range(IN_A_ROW)]
    return [_row("in a row", in_a_row, first, BAR), _row("right after the render", at_once, first, None)]


def _row(when: str, again: list[float], first: list[float], bar: float | None) -> Row:
    rates = 1 / statistics.median(again), 1 / statistics.median(first)
    note = f"{1000 / rates[0]:.3g} ms against {1000 / rates[1]:.3g} ms"
    name = f"repeats/s of one caller, document in the answer, {when}"
    return Row(name, rates[0], "first renders/s", rates[1], bar, note=note)


async def _seconds(field: Field, payload: Payload) -> float:
    began_at = time.perf_counter()
    await field.caller.document(payload)
    return time.perf_counter() - began_at
