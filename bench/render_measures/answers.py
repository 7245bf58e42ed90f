"""How long a POST takes while every page prints and more documents wait, beside an idle worker: one steady caller, at
the same pace in both. One that posted as fast as it could would be the load itself."""

from __future__ import annotations

import asyncio
import contextlib
import time

from bench.render_field import Field, percentile
from bench.report import Row

PAUSE_SECONDS = 0.2
BAR = 2.0
P95 = 0.95


async def rows(field: Field) -> list[Row]:
    idle: list[float] = []
    saturated: list[float] = []
    for _ in range(field.scale.rounds):
        idle += await _idle(field)
        saturated += await _saturated(field)
    note = f"ms; median {_ms(saturated, 0.5):.3g} against {_ms(idle, 0.5):.3g}; {len(idle)} answers each"
    busy, quiet = _ms(saturated, P95), _ms(idle, P95)
    return [
        Row("POST answer p95, saturated", busy, "idle worker", quiet, BAR, lower_is_better=True, note=note)
    ]


async def _idle(field: Field) -> list[float]:
    answers = []
    for _ in range(field.scale.answers):
        await asyncio.sleep(PAUSE_SECONDS)
        seconds, job_id = await _answer(field)
        answers.append(seconds)
        await field.caller.finished(job_id)
    return answers


async def _saturated(field: Field) -> list[float]:
    crowd = asyncio.create_task(_crowd(field))
    answers, last = [], ""
    try:
        for _ in range(field.scale.answers):
            await asyncio.sleep(PAUSE_SECONDS)
            seconds, last = await _answer(field)
            answers.append(seconds)
    finally:
        crowd.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await crowd
    await field.caller.finished(last)
    return answers


async def _crowd(field: Field) -> None:
    while True:
        await field.rate(10 * field.lanes)


async def _answer(field: Field) -> tuple[float, str]:
    payload = field.invoices.next_payload()
    began_at = time.perf_counter()
    job_id = await field.caller.post(payload)
    return time.perf_counter() - began_at, job_id


def _ms(seconds: list[float], share: float) -> float:
    return 1000 * percentile(seconds, share)
