"""What every engine under measurement can do, ours included. Each module has one `open_engine(options)`."""

from __future__ import annotations

import abc
import asyncio
import concurrent.futures
import random
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from bench.peers.tally import Tally

T = TypeVar("T")
Options = dict[str, Any]

BATCH = 1000


class Engine(abc.ABC):
    """Numbers are payloads. Every enqueue SHALL return only when the job is durably accepted."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @abc.abstractmethod
    def reset(self) -> None:
        """Empties the store and installs the schema, with the engine's own recommended tuning."""

    @abc.abstractmethod
    def sequential(self, numbers: Sequence[int]) -> float:
        """Enqueues one by one; seconds taken."""

    @abc.abstractmethod
    def concurrent(self, numbers: Sequence[int], callers: int) -> float:
        """Enqueues one by one from `callers` at once; seconds taken."""

    @abc.abstractmethod
    def batches(self, numbers: Sequence[int]) -> float:
        """Enqueues in batches of 1,000 by the best bulk path the engine has; seconds taken."""

    @abc.abstractmethod
    def paced(self, numbers: Sequence[int], pause_seconds: float) -> float:
        """Enqueues one by one, `pause_seconds` apart on average whatever each call takes; seconds taken."""

    @abc.abstractmethod
    def work(self, tally: Tally) -> None:
        """Runs one worker in this process until it is killed. Option `hold`: the handler never returns."""

    def unfinished(self) -> int | None:
        """Jobs the store still holds as not done; None where the store cannot say."""
        return None


def chunked(numbers: Sequence[int]) -> list[Sequence[int]]:
    return [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]


def jittered(pause_seconds: float) -> float:
    return pause_seconds * random.uniform(0.5, 1.5)


class AsyncEngine(Engine):
    """The measuring loops for an engine whose producer is a coroutine."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._runner: asyncio.Runner | None = None

    @abc.abstractmethod
    async def open(self) -> None: ...

    @abc.abstractmethod
    async def enqueue(self, number: int, sent_at: int) -> None: ...

    @abc.abstractmethod
    async def enqueue_many(self, numbers: Sequence[int]) -> None: ...

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self._runner is None:
            import uvloop

            self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
            self._runner.run(self.open())
        return self._runner.run(coroutine)

    def sequential(self, numbers: Sequence[int]) -> float:
        return self.run(self._sequential(numbers))

    async def _sequential(self, numbers: Sequence[int]) -> float:
        started = time.monotonic()
        for number in numbers:
            await self.enqueue(number, time.monotonic_ns())
        return time.monotonic() - started

    def concurrent(self, numbers: Sequence[int], callers: int) -> float:
        return self.run(self._concurrent(numbers, callers))

    async def _concurrent(self, numbers: Sequence[int], callers: int) -> float:
        started = time.monotonic()
        await asyncio.gather(*(self._sequential(numbers[caller::callers]) for caller in range(callers)))
        return time.monotonic() - started

    def batches(self, numbers: Sequence[int]) -> float:
        return self.run(self._batches(numbers))

    async def _batches(self, numbers: Sequence[int]) -> float:
        started = time.monotonic()
        for chunk in chunked(numbers):
            await self.enqueue_many(chunk)
        return time.monotonic() - started

    def paced(self, numbers: Sequence[int], pause_seconds: float) -> float:
        return self.run(self._paced(numbers, pause_seconds))

    async def _paced(self, numbers: Sequence[int], pause_seconds: float) -> float:
        started = due = time.monotonic()
        for number in numbers:
            due += jittered(pause_seconds)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self.enqueue(number, time.monotonic_ns())
        return time.monotonic() - started


class SyncEngine(Engine):
    """The measuring loops for an engine whose producer blocks; concurrent callers are threads."""

    @abc.abstractmethod
    def enqueue(self, number: int, sent_at: int) -> None: ...

    @abc.abstractmethod
    def enqueue_many(self, numbers: Sequence[int]) -> None: ...

    def sequential(self, numbers: Sequence[int]) -> float:
        started = time.monotonic()
        for number in numbers:
            self.enqueue(number, time.monotonic_ns())
        return time.monotonic() - started

    def concurrent(self, numbers: Sequence[int], callers: int) -> float:
        with concurrent.futures.ThreadPoolExecutor(callers) as threads:
            started = time.monotonic()
            list(threads.map(self.sequential, [numbers[caller::callers] for caller in range(callers)]))
            return time.monotonic() - started

    def batches(self, numbers: Sequence[int]) -> float:
        started = time.monotonic()
        for chunk in chunked(numbers):
            self.enqueue_many(chunk)
        return time.monotonic() - started

    def paced(self, numbers: Sequence[int], pause_seconds: float) -> float:
        started = due = time.monotonic()
        for number in numbers:
            due += jittered(pause_seconds)
            time.sleep(max(0.0, due - time.monotonic()))
            self.enqueue(number, time.monotonic_ns())
        return time.monotonic() - started
