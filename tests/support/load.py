"""Work to be done while something breaks, and a client that sends it and never gives up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from uuid import UUID

import httpx
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest, enqueue_jobs
from quire.kernel import UnavailableError

TENANT = "acme"
CLIENT = "fault-test"
LAST_ANSWER_SECONDS = 60.0

# Sends requests and answers with the ids of their jobs, or raises UnavailableError.
Send = Callable[[Sequence[JobRequest]], Awaitable[list[UUID]]]
Door = Callable[[], AbstractAsyncContextManager[Send]]


def mixed_requests(first: int, count: int) -> Iterator[JobRequest]:
    """Half of them leave an artifact; every one has a payload of its own, so none is merged with another."""
    for number in range(first, first + count):
        match number % 4:
            case 0:
                yield JobRequest("jobs.noop", {"number": number})
            case 1:
                yield JobRequest("jobs.sleep", {"number": number, "seconds": 0.05})
            case _:
                yield JobRequest("jobs.store", {"text": f"text {number}", "seconds": (number % 7) / 50})


async def enqueue(engine: Engine, *requests: JobRequest) -> list[UUID]:
    receipts = await enqueue_jobs(engine.intake, requests, tenant_id=TENANT, created_by=CLIENT)
    return [receipt.job_id for receipt in receipts]


def engine_door(site: Site) -> Door:
    @asynccontextmanager
    async def door() -> AsyncIterator[Send]:
        async with site.engine() as engine:
            yield lambda requests: enqueue(engine, *requests)

    return door


def http_door(url: str, token: str) -> Door:
    @asynccontextmanager
    async def door() -> AsyncIterator[Send]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=10) as http:
            yield lambda requests: _post(http, requests)

    return door


async def _post(http: httpx.AsyncClient, requests: Sequence[JobRequest]) -> list[UUID]:
    body = {"jobs": [{"kind": request.kind, "payload": request.payload} for request in requests]}
    try:
        answer = await http.post("/jobs/batch", json=body)
    except httpx.TransportError as error:
        raise UnavailableError(type(error).__name__) from None
    if answer.status_code >= 500:
        raise UnavailableError(answer.text)
    answer.raise_for_status()
    return [UUID(receipt["job_id"]) for receipt in answer.json()["results"]]


class Enqueuer:
    """A client in a thread and event loop of its own. A batch without an answer is sent again, as the job key
    allows, until it has one or the test has failed; `accepted` holds what was acknowledged."""

    def __init__(self, door: Door, *, batch: int = 20, pause_seconds: float = 0.1) -> None:
        self.accepted: list[UUID] = []
        self.refusals = 0
        self._door = door
        self._batch = batch
        self._pause_seconds = pause_seconds
        self._stopping = threading.Event()
        self._giving_up = threading.Event()
        # A daemon: when it hangs, the test fails and the run ends all the same.
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="enqueuer", daemon=True)
        self._failure: Exception | None = None

    def __enter__(self) -> Enqueuer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._giving_up.set()
        self._stopping.set()
        self._thread.join(LAST_ANSWER_SECONDS)
        assert not self._thread.is_alive(), "the client still waits for an answer"
        if self._failure is not None:
            raise self._failure

    async def reaches(self, count: int) -> None:
        """Waits until so many jobs were acknowledged."""

        async def probe() -> bool:
            assert self._failure is None, self._failure
            return len(self.accepted) >= count

        await eventually(probe, f"{count} acknowledged jobs", within_seconds=60)

    async def _run(self) -> None:
        try:
            async with self._door() as send:
                while not self._stopping.is_set():
                    self.accepted += await self._insist(send)
                    await asyncio.sleep(self._pause_seconds)
        except Exception as error:
            self._failure = error

    async def _insist(self, send: Send) -> list[UUID]:
        requests = list(mixed_requests(len(self.accepted), self._batch))
        while True:
            try:
                return await send(requests)
            except UnavailableError:
                self.refusals += 1
                if self._giving_up.is_set():
                    raise
                await asyncio.sleep(self._pause_seconds)
