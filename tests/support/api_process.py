"""`quire` as a process of its own, its log in a file that a test may read while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 40.0


@dataclass(frozen=True)
class QuireProcess:
    process: asyncio.subprocess.Process
    log: Path

    async def line_with(self, event: str) -> dict[str, str]:
        """The first log line of this event, waited for while the process lives."""
        async with asyncio.timeout(START_SECONDS):
            while True:
                ended = self.process.returncode is not None
                for line in self._lines():
                    if line["event"] == event:
                        return line
                assert not ended, f"ended without {event}: {self.log.read_text()}"
                await asyncio.sleep(0.05)

    def _lines(self) -> Iterator[dict[str, str]]:
        for line in self.log.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)


@contextlib.asynccontextmanager
async def running_quire(
    *arguments: str, dsn: str, directory: Path, program: str = "quire", **env: str
) -> AsyncIterator[QuireProcess]:
    environment = {
        **os.environ,
        "DATABASE_URL": dsn,
        "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
        "QUIRE_DIAGNOSTIC_KINDS": "true",
        "QUIRE_SECRET_KEY": "a secret that only tests know",
        **env,
    }
    log = directory / "quire.log"
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", program, *arguments, env=environment, cwd=directory, stderr=file
        )
    try:
        yield QuireProcess(process, log)
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.wait(), 20)
