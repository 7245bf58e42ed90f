"""A whole Quire worker in a thread of another program: under the command lines of Dramatiq and RQ. They consume the
messages; claims, heartbeats, limits and batched writes are the same as in `quire worker`."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence

import structlog
import uvloop

from quire.entrypoints.departure import run_and_leave
from quire.entrypoints.worker import run_worker
from quire.jobs.application.brokers.inbox import Inbox
from quire.runtime.settings import Settings
from quire.runtime.telemetry import configure_telemetry

EXIT_DIED = 1

log = structlog.get_logger(__name__)


class WorkerThread:
    def __init__(self, settings: Settings, queues: Sequence[str] = ()) -> None:
        """`queues`: instead of WORKER_QUEUES, where the program's own arguments chose them."""
        self.inbox = Inbox()
        chosen = {"worker_queues": ",".join(queues)} if queues else {}
        self._settings = settings.model_copy(update=chosen)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], None] | None = None
        self._ready = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._main, name="quire-worker")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """As SIGTERM does to `quire worker`: the first call finishes what runs, a second hands it back at once."""
        self._stopping = True
        self.inbox.close()
        self._ready.wait()
        if self._loop is not None and self._stop is not None:
            try:
                self._loop.call_soon_threadsafe(self._stop)
            except RuntimeError:
                log.debug("worker_thread_over")

    def join(self) -> None:
        self._thread.join()

    def _main(self) -> None:
        exporter = configure_telemetry(self._settings, process="worker")
        try:
            work = run_worker(self._settings, inbox=self.inbox, stopped_by=self._stopped_by)
            uvloop.run(run_and_leave(work))
        except BaseException:
            # The program around us would go on consuming messages that nobody works on.
            log.exception("worker_thread_died")
            os._exit(EXIT_DIED)
        finally:
            self._ready.set()
            if exporter is not None:
                exporter.close()
        if not self._stopping:
            log.error("worker_thread_ended")
            os._exit(EXIT_DIED)

    def _stopped_by(self, stop: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = stop
        self._ready.set()
