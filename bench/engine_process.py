"""Our end of the line protocol: one engine process, asked one thing at a time, always killed at the end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.peer_env import REPOSITORY

Options = dict[str, Any]


class EngineProcess:
    """A producer or a worker. Killed, not stopped: every measurement starts from an empty store anyway."""

    def __init__(self, python: Path, module: str, role: str, options: Options) -> None:
        command = [str(python), "-m", "bench.peers.runner", module, role, json.dumps(options)]
        verbose = bool(os.environ.get("BENCH_VERBOSE"))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
            text=True,
            cwd=REPOSITORY,
            start_new_session=True,
        )
        self._what = f"{module} {role}"
        self.answer()

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, do: str, **values: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **values}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"{self._what} ended with {self._process.wait()}; run with BENCH_VERBOSE=1 to see why"
            )
        reply: dict[str, Any] = json.loads(line)
        return reply

    def ask(self, do: str, **values: Any) -> dict[str, Any]:
        self.tell(do, **values)
        return self.answer()

    def crash(self) -> None:
        """SIGKILL of this process alone: what it left behind is the engine's to clean up."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """SIGKILL of the whole session: a forked child must not outlive its measurement."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
