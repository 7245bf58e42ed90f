"""Makes the pictures of the README from real runs: starts a Quire of its own, does the work, draws what the commands
said and the document they printed.

scripts/pictures.py            write docs/images
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
COLUMNS = 100
LEASE_SECONDS = 5
WAIT_SECONDS = 90.0


class Terminal:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        width = {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
        quire = {"WORKER_LEASE_TTL_SEC": str(LEASE_SECONDS), "QUIRE_DIAGNOSTIC_KINDS": "true"}
        self.environment = {**kept, **width, **quire}

    def quire(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "quire", *arguments],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
        )
        return done.stdout

    def answer(self, *arguments: str) -> Any:
        return json.loads(self.quire(*arguments, "--json"))

    @contextmanager
    def up(self) -> Iterator[None]:
        ready = self.directory / "ready"
        command = [sys.executable, "-m", "quire", "up", "--port", "0", "--ready-file", str(ready)]
        with (self.directory / "up.log").open("w") as log:
            process = subprocess.Popen(
                command, cwd=self.directory, env=self.environment, stdout=log, stderr=log
            )
        try:
            until(ready.exists)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT_SECONDS)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("it took too long")
        time.sleep(0.1)


def survivor(terminal: Terminal) -> None:
    """A job that outlives its worker."""
    pids = {worker["id"]: worker["pid"] for worker in terminal.answer("workers")}
    payload = json.dumps({"text": "survivor", "seconds": 6})
    job_id = terminal.answer("jobs", "submit", "jobs.store", payload)["job_id"]
    until(lambda: terminal.answer("jobs", "show", job_id)["state"] != "queued")
    os.kill(pids[terminal.answer("jobs", "show", job_id)["leased_by"]], signal.SIGKILL)
    if not terminal.answer("jobs", "wait", job_id)["crash_count"]:
        raise SystemExit("the job was quicker than the kill: try again on a quieter machine")
    draw("survivor", ["jobs", "show", job_id], terminal)


def invoice(terminal: Terminal) -> None:
    """The first page of the shipped invoice; needs pdftoppm."""
    terminal.quire("render", "invoice", "--sample", "-o", "invoice.pdf")
    target = IMAGES / "invoice"
    options = ["-singlefile", "-r", "80", "-png"]
    subprocess.run(["pdftoppm", *options, terminal.directory / "invoice.pdf", target], check=True)


def draw(name: str, arguments: list[str], terminal: Terminal) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ quire {' '.join(arguments)}", style="bold"))
    # Of a table that is drawn anew as it grows, the last state.
    console.print(Text.from_ansi(terminal.quire(*arguments).rsplit("\x1b[2K", 1)[-1]))
    IMAGES.mkdir(exist_ok=True)
    drawn = console.export_svg(title="quire", unique_id=name)
    # Rich would fetch its font from the network; the reader's own monospace does.
    local = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    (IMAGES / f"{name}.svg").write_text(local, encoding="utf-8")


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        terminal = Terminal(Path(directory))
        with terminal.up():
            survivor(terminal)
            invoice(terminal)
            draw("demo", ["demo"], terminal)
    return 0


if __name__ == "__main__":
    sys.exit(main())
