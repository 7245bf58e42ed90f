"""The first start on a Postgres of one's own, by the commands of docs/guides/operations.md as they stand there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
from tests.journey.entrypoints.test_guide_samples import samples
from tests.support.quire_up import clean_environment, wait_until

from quire.runtime.free_port import free_port

GUIDE = "docs/guides/operations.md"
# What the guide's first block sets: the only values that are the reader's own.
OWN_NAMES = {"DATABASE_URL", "QUIRE_STORAGE_URL", "QUIRE_SECRET_KEY"}


def block(mark: str) -> str:
    (text,) = [text for language, found, text in samples(GUIDE) if (language, found) == ("bash", mark)]
    return text


def run(script: str, environment: dict[str, str], directory: Path) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def serving(script: str, environment: dict[str, str], directory: Path, log: Path) -> Iterator[None]:
    """A terminal in which the command stays until it is interrupted."""
    with log.open("w") as output:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {script}"],
            cwd=directory,
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        yield
        assert process.poll() is None, log.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_first_start_on_ones_own_postgres_goes_as_the_guide_says(empty_dsn: str, tmp_path: Path) -> None:
    assert set(re.findall(r"^export (\w+)=", block("own-environment"), re.MULTILINE)) == OWN_NAMES
    url = f"http://127.0.0.1:{(port := free_port())}"
    environment = {
        **clean_environment(),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DATABASE_URL": empty_dsn,
        "QUIRE_STORAGE_URL": f"file:{tmp_path / 'storage'}",
        "QUIRE_SECRET_KEY": "0" * 64,
        "QUIRE_PORT": str(port),
    }
    token = run(block("own-first-start"), environment, tmp_path).splitlines()[-1]
    with ExitStack() as terminals:
        for name in ("own-api", "own-worker"):
            log = tmp_path / f"{name}.log"
            terminals.enter_context(serving(block(name), environment, tmp_path, log))
        wait_until(lambda: answers(f"{url}/readyz"), 60)
        client = {**environment, "QUIRE_URL": url, "QUIRE_TOKEN": token}
        run(block("own-client"), client, tmp_path)
    assert (tmp_path / "invoice.pdf").read_bytes().startswith(b"%PDF")
