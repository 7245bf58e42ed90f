"""A caller of the HTTP API: asks for a document, waits for it, downloads it. One keep-alive connection a caller."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp

from bench.render_documents import Payload

DOCUMENT_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the API is, and the token that opens it."""

    url: str
    token: str


class RenderClient:
    # aiohttp and not httpx: on two cores the caller's own work takes from what it measures.
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def document(self, payload: Payload) -> bytes:
        """In one call: the answer to the POST is the document."""
        headers, wait = {"Accept": "application/pdf"}, {"wait": "30"}
        async with self._session.post(
            "/pdf/jobs", data=json.dumps(payload), headers=headers, params=wait
        ) as answer:
            data = await answer.read()
        if not data.startswith(b"%PDF"):
            raise RuntimeError(f"POST /pdf/jobs answered {answer.status}: {data[:300]!r}")
        return data

    async def post(self, payload: Payload) -> str:
        async with self._session.post("/pdf/jobs", data=json.dumps(payload)) as answer:
            body = await answer.json()
            if answer.status not in (200, 202):
                raise RuntimeError(f"POST /pdf/jobs answered {answer.status}: {body}")
            return str(body["job_id"])

    async def finished(self, job_id: str) -> None:
        deadline = time.monotonic() + DOCUMENT_SECONDS
        while time.monotonic() < deadline:
            async with self._session.get(f"/pdf/jobs/{job_id}", params={"wait": "30"}) as answer:
                job = await answer.json()
            if job["status"] == "succeeded":
                return
            if job["finished_at"] is not None:
                raise RuntimeError(f"the document failed: {job}")
        raise RuntimeError(f"no document within {DOCUMENT_SECONDS:g} s")


@asynccontextmanager
async def client(place: Place) -> AsyncIterator[RenderClient]:
    headers = {"Authorization": f"Bearer {place.token}", "Content-Type": "application/json"}
    # The server ends idle connections after five seconds; a POST must not be sent on one that is about to go.
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=2)
    async with aiohttp.ClientSession(place.url, headers=headers, connector=connector) as session:
        yield RenderClient(session)


async def seconds_for(
    caller: RenderClient, next_payload: Callable[[], Payload], count: int, lanes: int
) -> float:
    """`count` documents by `lanes` callers who each take the next when they have theirs."""
    left = iter(range(count))

    async def lane() -> None:
        for _ in left:
            await caller.document(next_payload())

    began_at = time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(lanes)))
    return time.perf_counter() - began_at
