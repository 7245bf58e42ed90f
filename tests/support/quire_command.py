"""The `quire` command against a served API, as a process of its own beside the test's loop."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND_SECONDS = 60.0


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class QuireCommand:
    def __init__(self, url: str, token: str, directory: Path) -> None:
        self._directory = directory
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")},
            "QUIRE_URL": url,
            "QUIRE_TOKEN": token,
            "COLUMNS": "120",
        }

    async def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Said:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "quire"),
            *arguments,
            env={**self._environment, **environment},
            cwd=self._directory,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin.encode()), COMMAND_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        assert b"Traceback" not in err, err.decode()
        return Said(process.returncode, out.decode(), err.decode())
