"""Keeps a template process warm, and replaces it when a template misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import struct
from collections.abc import Mapping, Sequence

from quire.render.domain.errors import NavigationTimeoutError, TemplateError
from quire.render.domain.template_pack import TemplatePack
from quire.runtime import seccomp
from quire.runtime.isolation import BARE_ENVIRONMENT, DIE_WITH_PARENT, without_network
from quire.runtime.priority import keep_back
from quire.runtime.python_command import python_module

CHILD = "quire.render.infrastructure.jinja.child"
ANSWER_MAX_BYTES = 40_000_000
# Of templates that an operator added; each takes about 2 MB for as long as the process lives.
LANGUAGES_MAX = 40
LANGUAGE_NAME = re.compile(r"[A-Za-z0-9_]{2,40}")
START_SECONDS = 30.0
DIED = (asyncio.IncompleteReadError, ConnectionError)
# A process that has filled this many templates gives its memory back.
FILLS_MAX = 2_000


class JinjaHtmlBuilder:
    def __init__(self) -> None:
        self._child: asyncio.subprocess.Process | None = None
        self._languages: list[str] = []
        self._fills = 0
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    async def build(
        self, pack: TemplatePack, data: Mapping[str, object], timeout_seconds: float = 5.0
    ) -> str:
        request = json.dumps({"source": pack.source, "data": data}).encode()
        async with self._turn:
            try:
                answer = await self._insist(request, pack.name, timeout_seconds)
                while answer[:1] == b"?":
                    await self._learn(answer[1:].decode(errors="replace"), pack.name)
                    answer = await self._insist(request, pack.name, timeout_seconds)
            except BaseException:
                # Whatever it still has to say belongs to nobody.
                await self._end()
                raise
        if answer[:1] != b"+":
            raise TemplateError(f"template {pack.name}: {answer[1:500].decode(errors='replace')}")
        return answer[1:].decode()

    async def _learn(self, language: str, name: str) -> None:
        """A running process can read no file any more: another one loads the language before its door is shut."""
        known = language in self._languages or len(self._languages) >= LANGUAGES_MAX
        if known or LANGUAGE_NAME.fullmatch(language) is None:
            raise TemplateError(f"template {name}: the language {language[:40]!r} cannot be loaded")
        self._languages.append(language)
        await self._end()

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
        self._child = await _start_child(self._languages)
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


def _wall() -> tuple[str, ...]:
    """The child's system call filter leaves it no network. Where there is no filter it gets an empty one of its own,
    or does not start: units and containers deny the API that namespace."""
    return () if seccomp.is_available() else without_network()


async def _start_child(languages: Sequence[str]) -> asyncio.subprocess.Process:
    child = await asyncio.create_subprocess_exec(
        *_wall(),
        *DIE_WITH_PARENT,
        *python_module(CHILD, *languages),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=BARE_ENVIRONMENT,
        # Of the directory that we run in, it knows nothing.
        cwd="/",
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
