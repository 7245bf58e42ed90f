"""The same document asked for again, beside its first render: one caller, an idle worker."""

from __future__ import annotations

import statistics
import time

from bench.render_documents import Payload
from bench.render_field import Field
from bench.report import Row

BAR = 20.0


async def rows(field: Field) -> list[Row]:
    first, again = [], []
    for _ in range(field.scale.repeats):
        payload = field.invoices.next_payload()
        first.append(await _first(field, payload))
        again.append(await _again(field, payload))
    rates = 1 / statistics.median(again), 1 / statistics.median(first)
    note = f"{1000 / rates[0]:.3g} ms against {1000 / rates[1]:.3g} ms"
    return [
        Row(
            "repeats/s of one caller, POST to download", rates[0], "first renders/s", rates[1], BAR, note=note
        )
    ]


async def _first(field: Field, payload: Payload) -> float:
    began_at = time.perf_counter()
    await field.caller.document(payload)
    return time.perf_counter() - began_at


async def _again(field: Field, payload: Payload) -> float:
    """The answer says that it is done, so there is nothing to wait for."""
    began_at = time.perf_counter()
    await field.caller.download(await field.caller.post(payload))
    return time.perf_counter() - began_at
