"""The code that does one kind of job, and what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quire.jobs.domain.job import Artifact
from quire.jobs.domain.lease import Lease


@dataclass(frozen=True, slots=True)
class ChildExit:
    returncode: int
    stdout: bytes
    stderr: bytes


class JobContext(Protocol):
    """A handler's view of its attempt. All of it is fenced: after the lease is lost, calls raise LeaseLostError."""

    lease: Lease

    @property
    def stop_requested(self) -> asyncio.Event:
        """Set at the soft limit, at a cancel and at shutdown: finish or raise soon, the hard end follows."""
        ...

    async def progress(self, percent: int) -> None: ...

    async def put_artifact(
        self,
        data: bytes,
        *,
        filename: str,
        content_type: str = "application/octet-stream",
        folder: str = "artifacts",
    ) -> Artifact:
        """At most one artifact a job; it becomes visible when the job succeeds."""
        ...

    async def put_artifact_stream(
        self,
        chunks: AsyncIterator[bytes],
        *,
        filename: str,
        content_type: str = "application/octet-stream",
        folder: str = "artifacts",
        approve: Callable[[], Awaitable[None]] | None = None,
    ) -> Artifact:
        """The same for bytes that come by and by; an error of `chunks` leaves nothing behind, nor does one of
        `approve`, which is asked when all have come and answers before any of them counts."""
        ...

    async def run_child(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> ChildExit:
        """Blocking or crashing work goes here: its own process group, killed for certain when the attempt ends."""
        ...


Handle = Callable[[object, JobContext], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Handler:
    """`decode` turns the stored payload into what `handle` takes; whatever it raises is PAYLOAD_UNDECODABLE.
    `handle` returns the job's result, a small JSON value or None."""

    kind: str
    handle: Handle
    decode: Callable[[Mapping[str, object]], object] = dict
    public: bool = True
    """Whether the general API may create it; others are created by their context's own API."""
    schema: Mapping[str, object] | None = None
    """JSON Schema of the payload, checked before a job is accepted."""
