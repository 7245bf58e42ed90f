"""Starts a worker for suspects as a child process. The child's input is the line that ties it to us: when it closes,
because we stop or because somebody killed us, the child finishes or hands back what it runs and leaves."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence

from quire.runtime.priority import keep_back


class ChildSoloProcess:
    def __init__(self, command: Sequence[str], names: Mapping[str, str]) -> None:
        """`names`: in the child's environment instead of ours."""
        self._command = command
        self._names = names
        self._child: asyncio.subprocess.Process | None = None
        self._stops = 0

    async def run(self) -> int:
        if self._stops:
            return 0
        self._child = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            env={**os.environ, **self._names},
            # A signal to our group is ours to pass on.
            start_new_session=True,
        )
        keep_back(self._child.pid)
        if self._stops:
            self._let_go()
        return await self._child.wait()

    def stop(self) -> None:
        self._stops += 1
        self._let_go()
        if self._stops > 1 and self._child is not None and self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._child.terminate()

    def _let_go(self) -> None:
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()

    async def close(self, timeout_seconds: float) -> None:
        self._stops += 1
        self._let_go()
        if self._child is None or self._child.returncode is not None:
            return
        try:
            await asyncio.wait_for(asyncio.shield(self._child.wait()), timeout_seconds)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()
            await self._child.wait()
