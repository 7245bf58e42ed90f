"""Runs a command in its own process group and kills the group for certain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from quire.jobs.domain.errors import JobError
from quire.jobs.infrastructure.process.guardian import Guardian
from quire.jobs.ports.v1.handler import ChildExit
from quire.runtime.priority import keep_back

OUTPUT_MAX_BYTES = 16 * 1024 * 1024
# Debian's util-linux: the kernel kills the child when the worker dies, however it dies.
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


class ProcessGroupRunner:
    def __init__(self) -> None:
        self._guardian = Guardian()

    async def run(self, argv: Sequence[str], *, stdin: bytes, env: Mapping[str, str] | None) -> ChildExit:
        child = await asyncio.create_subprocess_exec(
            *DIE_WITH_PARENT,
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(env) if env is not None else None,
            start_new_session=True,
        )
        keep_back(child.pid)
        self._guardian.watch(child.pid)
        try:
            output, errors, _ = await asyncio.gather(
                _read(child.stdout), _read(child.stderr), _feed(child.stdin, stdin)
            )
            return ChildExit(await child.wait(), output, errors)
        finally:
            _kill_group(child.pid)
            self._guardian.release(child.pid)
            await asyncio.shield(child.wait())


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    assert stream is not None
    chunks, size = [], 0
    while chunk := await stream.read(65_536):
        size += len(chunk)
        if size > OUTPUT_MAX_BYTES:
            raise JobError(f"a child wrote more than {OUTPUT_MAX_BYTES} bytes", code="CHILD_OUTPUT_TOO_LARGE")
        chunks.append(chunk)
    return b"".join(chunks)


async def _feed(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    assert stream is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(data)
        await stream.drain()
    stream.close()


def _kill_group(pid: int) -> None:
    # The leader may be gone while grandchildren of its group live on, so the group is always signalled.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
