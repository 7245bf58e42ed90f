"""What the worker's whole process tree holds late in its life, beside early; sampled while it prints.

At rest would flatter: a browser that has just printed its last document is gone, with what it held.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator

from bench.render_field import Field
from bench.report import Row

SAMPLE_SECONDS = 0.25
BAR = 1.2
MEANT = 2000
MB = 1_000_000


async def rows(field: Field) -> list[Row]:
    early_count, late_count = field.scale.memory_early, field.scale.memory_late
    # Pages are renewed every few dozen documents; the late window is long enough to see them young and old.
    early_window, late_window = early_count // 2, 2 * early_count
    peak: list[int] = []
    await field.rate(early_count - early_window)
    early = await _sampled(field, early_window)
    async with _sampling(field, peak, SAMPLE_SECONDS * 8):
        await field.rate(late_count - early_count - late_window)
    late = await _sampled(field, late_window)
    fewer = "" if late_count >= MEANT else f"; fewer than the {MEANT:,} of a full run"
    note = f"MB, medians while printing; greatest in between {max(peak) / MB:.0f}{fewer}"
    measure = f"worker's memory at {late_count:,} renders"
    return [
        Row(measure, late / MB, f"at {early_count} renders", early / MB, BAR, lower_is_better=True, note=note)
    ]


async def _sampled(field: Field, documents: int) -> float:
    samples: list[int] = []
    async with _sampling(field, samples, SAMPLE_SECONDS):
        await field.rate(documents)
    return statistics.median(samples)


@contextlib.asynccontextmanager
async def _sampling(field: Field, samples: list[int], seconds: float) -> AsyncIterator[None]:
    async def sample() -> None:
        while True:
            samples.append(await asyncio.to_thread(field.quire.worker_bytes))
            await asyncio.sleep(seconds)

    task = asyncio.create_task(sample())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
