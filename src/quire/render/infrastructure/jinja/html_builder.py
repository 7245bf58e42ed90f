"""Keeps a template process warm, and replaces it when a template misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import struct
from collections.abc import Mapping

from quire.render.domain.errors import NavigationTimeoutError, TemplateError
from quire.render.domain.template_pack import TemplatePack
from quire.runtime.isolation import BARE_ENVIRONMENT, DIE_WITH_PARENT, without_network
from quire.runtime.priority import keep_back
from quire.runtime.python_command import python_module

ANSWER_MAX_BYTES = 40_000_000
START_SECONDS = 30.0
DIED = (asyncio.IncompleteReadError, ConnectionError)
# A process that has filled this many templates gives its memory back.
FILLS_MAX = 2_000


class JinjaHtmlBuilder:
    def __init__(self) -> None:
        self._child: asyncio.subprocess.Process | None = None
        self._fills = 0
        self._turn = asyncio.Lock()

    async def build(
        self, pack: TemplatePack, data: Mapping[str, object], timeout_seconds: float = 5.0
    ) -> str:
        request = json.dumps({"source": pack.source, "data": data}).encode()
        async with self._turn:
            try:
                answer = await self._insist(request, pack.name, timeout_seconds)
            except BaseException:
                # Whatever it still has to say belongs to nobody.
                await self._end()
                raise
        if answer[:1] != b"+":
            raise TemplateError(f"template {pack.name}: {answer[1:500].decode(errors='replace')}")
        return answer[1:].decode()

    async def _insist(self, request: bytes, name: str, timeout_seconds: float) -> bytes:
        """A process may be killed by others; a template that kills its own does so twice."""
        for _ in range(2):
            child = await self._ready_child()
            try:
                async with asyncio.timeout(timeout_seconds):
                    return await _ask(child, request)
            except TimeoutError:
                raise TemplateError(f"template {name}: not filled within {timeout_seconds:g} s") from None
            except DIED:
                await self._end()
        raise TemplateError(f"template {name}: its process died")

    async def _ready_child(self) -> asyncio.subprocess.Process:
        """The start is no template's fault: it has a time of its own, and failing it is worth another attempt."""
        self._fills += 1
        if self._child is not None and (self._child.returncode is not None or self._fills > FILLS_MAX):
            await self._end()
        if self._child is not None:
            return self._child
        self._fills = 0
        self._child = await _start_child()
        try:
            async with asyncio.timeout(START_SECONDS):
                await _read_frame(self._child)
        except (TimeoutError, *DIED):
            raise NavigationTimeoutError("the template process did not start") from None
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()

    async def close(self) -> None:
        await self._end()


async def _start_child() -> asyncio.subprocess.Process:
    child = await asyncio.create_subprocess_exec(
        *without_network(),
        *DIE_WITH_PARENT,
        *python_module("quire.render.infrastructure.jinja.child"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=BARE_ENVIRONMENT,
        start_new_session=True,
    )
    keep_back(child.pid)
    return child


async def _ask(child: asyncio.subprocess.Process, request: bytes) -> bytes:
    assert child.stdin is not None
    child.stdin.write(struct.pack(">I", len(request)) + request)
    await child.stdin.drain()
    return await _read_frame(child)


async def _read_frame(child: asyncio.subprocess.Process) -> bytes:
    assert child.stdout is not None
    size = struct.unpack(">I", await child.stdout.readexactly(4))[0]
    if size > ANSWER_MAX_BYTES:
        raise ConnectionError("the template process answers too much")
    return await child.stdout.readexactly(size)
