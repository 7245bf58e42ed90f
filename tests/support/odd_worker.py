"""A worker process that also knows the odd kinds: the wiring of `quire worker`, with more handlers."""

from __future__ import annotations

import sys

import uvloop
from tests.support.odd_handlers import odd_handlers
from tests.support.shifted_clock import shift_clock_on_signals

from quire.entrypoints.departure import run_and_leave
from quire.entrypoints.engine import shipped_handlers
from quire.entrypoints.worker import run_worker
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import configure_telemetry


def main() -> None:
    shift_clock_on_signals()
    settings = load_settings()
    configure_telemetry(settings, process="worker")
    handlers = [*shipped_handlers(settings), *odd_handlers()]
    again = [sys.executable, "-m", "tests.support.odd_worker"]
    uvloop.run(run_and_leave(run_worker(settings, handlers, solo_command=again)))


if __name__ == "__main__":
    main()
