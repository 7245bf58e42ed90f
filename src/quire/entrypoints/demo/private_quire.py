"""A Quire of the demo's own, in a directory that is gone afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from quire.entrypoints.api_location import ApiLocation
from quire.kernel import UnavailableError
from quire.runtime.python_command import python_module

READY_SECONDS = 180.0
STOP_SECONDS = 60.0
LINES_SHOWN = 15


class PrivateQuireError(UnavailableError):
    code = "DEMO_START_FAILED"
    title = "A private Quire for the demo did not start"
    retryable = False


@contextlib.contextmanager
def private_quire() -> Iterator[ApiLocation]:
    with tempfile.TemporaryDirectory(prefix="quire-demo-") as directory:
        root = Path(directory)
        with (root / "output").open("w+") as output:
            process = _start(root, output.fileno())
            try:
                yield _ready(process, root)
            finally:
                _stop(process)


def _start(root: Path, output: int) -> subprocess.Popen[bytes]:
    options = ["--data-dir", str(root / "data"), "--port", "0", "--ready-file", str(root / "ready")]
    return subprocess.Popen(
        python_module("quire", "up", *options),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=_environment(),
        cwd=root,
        # Ctrl-C reaches this process alone, which then stops the other in good order.
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """Neither the caller's database nor their .env file; every scenario."""
    inherited = {name: value for name, value in os.environ.items() if not _is_setting(name)}
    return {**inherited, "QUIRE_DIAGNOSTIC_KINDS": "true"}


def _is_setting(name: str) -> bool:
    return name == "DATABASE_URL" or name.startswith(("QUIRE_", "WORKER_"))


def _ready(process: subprocess.Popen[bytes], root: Path) -> ApiLocation:
    deadline = time.monotonic() + READY_SECONDS
    path = root / "ready"
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            lines = (root / "output").read_text(errors="replace").splitlines()
            raise PrivateQuireError("\n".join(["see what it said:", *lines[-LINES_SHOWN:]]))
        time.sleep(0.05)
    ready = json.loads(path.read_text())
    return ApiLocation(ready["url"], ready["token"], "the private Quire")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
