"""Keeps a template process warm, and replaces it when a template misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import struct
import sys
from collections.abc import Mapping

from quire.render.domain.errors import TemplateError
from quire.render.domain.template_pack import TemplatePack

ANSWER_MAX_BYTES = 40_000_000
# A process that has filled this many templates gives its memory back.
FILLS_MAX = 2_000
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--no-new-privs", "--")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


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
                async with asyncio.timeout(timeout_seconds):
                    answer = await self._ask(request)
            except TimeoutError:
                await self._end()
                raise TemplateError(
                    f"template {pack.name}: not filled within {timeout_seconds:g} s"
                ) from None
            except (asyncio.IncompleteReadError, ConnectionError, BrokenPipeError):
                await self._end()
                raise TemplateError(f"template {pack.name}: its process died") from None
            except asyncio.CancelledError:
                await self._end()
                raise
        if answer[:1] != b"+":
            raise TemplateError(f"template {pack.name}: {answer[1:500].decode(errors='replace')}")
        return answer[1:].decode()

    async def _ask(self, request: bytes) -> bytes:
        child = await self._ready_child()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(struct.pack(">I", len(request)) + request)
        await child.stdin.drain()
        size = struct.unpack(">I", await child.stdout.readexactly(4))[0]
        if size > ANSWER_MAX_BYTES:
            raise ConnectionError("the template process answers too much")
        return await child.stdout.readexactly(size)

    async def _ready_child(self) -> asyncio.subprocess.Process:
        self._fills += 1
        if self._child is not None and self._fills > FILLS_MAX:
            await self._end()
        if self._child is None or self._child.returncode is not None:
            self._fills = 0
            self._child = await asyncio.create_subprocess_exec(
                *_without_network(),
                *DIE_WITH_PARENT,
                sys.executable,
                "-m",
                "quire.render.infrastructure.jinja.child",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=ENVIRONMENT,
                start_new_session=True,
            )
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()

    async def close(self) -> None:
        await self._end()


def _without_network() -> tuple[str, ...]:
    if os.geteuid() == 0:
        return ("unshare", "--net", "--")
    return ("unshare", "--user", "--map-current-user", "--net", "--")
