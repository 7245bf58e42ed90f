"""The peers a document is printed beside, and our end of their line protocol."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.peer_env import REPOSITORY, peer_python
from quire.render.infrastructure.chromium.font_set import install_fonts

END_SECONDS = 30.0
PANGO = ("libpango-1.0-0", "libpangoft2-1.0-0")


def own_python() -> Path:
    return Path(sys.executable)


def weasyprint_python() -> Path:
    if not ctypes.util.find_library("pangoft2-1.0"):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise RuntimeError(f"WeasyPrint needs {' and '.join(PANGO)}")
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PANGO]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return peer_python()


@dataclass(frozen=True)
class Peer:
    """`bar` is the least share of its documents a second that Quire has to reach."""

    name: str
    module: str
    bar: float
    is_slow: bool = False
    python: Callable[[], Path] = own_python


PEERS = (
    Peer("Playwright, fresh contexts", "fresh_context", 1.0),
    Peer("Playwright, reused pages", "reused_page", 0.6),
    Peer("Playwright, launch per job", "launch_per_job", 5.0, is_slow=True),
    Peer("chromium --print-to-pdf", "one_shot", 5.0, is_slow=True),
    Peer("WeasyPrint", "weasyprint", 1.0, is_slow=True, python=weasyprint_python),
)


class PeerProcess:
    def __init__(self, process: subprocess.Popen[str], name: str) -> None:
        self._process = process
        self._name = name

    def await_ready(self) -> None:
        self._line()

    def rate(self, count: int) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        return count / float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._name} ended with {self._process.wait()}; see BENCH_VERBOSE=1")
        return line


@contextmanager
def running(peer: Peer, directory: Path, concurrency: int) -> Iterator[PeerProcess]:
    """`directory` holds the documents in `html` and the fonts for those who take them from the machine."""
    module = f"bench.render_peers.{peer.module}"
    process = subprocess.Popen(
        [str(peer.python()), "-m", module, str(directory / "html"), str(concurrency)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("BENCH_VERBOSE") else subprocess.DEVNULL,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "FONTCONFIG_FILE": str(directory / "fonts.conf")},
    )
    try:
        yield PeerProcess(process, peer.name)
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Its input ends, so it closes what it opened; their browsers' watchers do the rest if it cannot."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def lend_fonts(directory: Path) -> None:
    install_fonts(directory, directory / "font-cache")
