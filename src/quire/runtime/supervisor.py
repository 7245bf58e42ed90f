"""Keeps a set of programs running: starts them in order, restarts with backoff, stops them in reverse order.

It owns SIGINT, SIGTERM and SIGCHLD while it runs. It refuses to give up: whoever runs it may, from `on_tick`.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType

from quire.kernel import QuireError
from quire.runtime.program import Program

FIRST_DELAY_SECONDS = 0.5
LAST_DELAY_SECONDS = 30.0
# A run this long counts as healthy: the next failure starts with the shortest delay again.
HEALTHY_SECONDS = 60.0
TICK_SECONDS = 0.2
TRIM_SECONDS = 60.0
KILL_WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Failure:
    """An exit nobody asked for, or a launch that did not succeed."""

    name: str
    reason: str
    in_a_row: int
    retry_in_seconds: float
    last_lines: Sequence[str]


@dataclass
class _Child:
    program: Program
    process: subprocess.Popen[bytes] | None = None
    began_at: float = field(default_factory=time.monotonic)
    due_at: float = 0.0
    failures_in_a_row: int = 0

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Supervisor:
    """`stages` start first to last and stop last to first; the programs of one stage stop together."""

    def __init__(self, stages: Sequence[Sequence[Program]], on_failure: Callable[[Failure], None]) -> None:
        self._stages = [[_Child(program) for program in stage] for stage in stages]
        self._on_failure = on_failure
        self._stop_requests = 0
        self._trim_at = 0.0
        self._wakeup: socket.socket | None = None

    def adopt(self, program: Program, process: subprocess.Popen[bytes] | None) -> None:
        """Takes over a program that its caller launched already."""
        for child in self._children():
            if child.program is program:
                child.process = process

    def run(self, on_tick: Callable[[], None], on_stop: Callable[[], None] = lambda: None) -> None:
        """Returns after SIGINT or SIGTERM, when everything has stopped; a second signal stops at once.

        `on_tick` is called a few times a second; what it or `on_failure` raises stops everything too.
        `on_stop` is called when a signal asked for the stop, before anything is told to.
        """
        with self._signals():
            try:
                while not self._stop_requests:
                    self._tend()
                    on_tick()
                    self._sleep(TICK_SECONDS)
                on_stop()
            finally:
                self._stop_all()

    def _children(self) -> Iterator[_Child]:
        return (child for stage in self._stages for child in stage)

    def _tend(self) -> None:
        now = time.monotonic()
        for child in self._children():
            if child.process is not None and child.process.poll() is not None:
                self._note_exit(child, child.process.returncode, now)
            if child.process is None and child.due_at <= now:
                self._launch(child, now)
        if self._trim_at <= now:
            self._trim_at = now + TRIM_SECONDS
            for child in self._children():
                child.program.log.trim()

    def _launch(self, child: _Child, now: float) -> None:
        child.began_at = now
        try:
            child.process = child.program.launch()
        except (QuireError, OSError) as error:
            self._postpone(child, f"{type(error).__name__}: {error}", now)

    def _note_exit(self, child: _Child, returncode: int, now: float) -> None:
        child.process = None
        if now - child.began_at > HEALTHY_SECONDS:
            child.failures_in_a_row = 0
        reason = f"killed by signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
        self._postpone(child, reason, now)

    def _postpone(self, child: _Child, reason: str, now: float) -> None:
        delay = min(FIRST_DELAY_SECONDS * 2**child.failures_in_a_row, LAST_DELAY_SECONDS)
        child.failures_in_a_row += 1
        child.due_at = now + delay
        lines = child.program.log.latest_lines()
        self._on_failure(Failure(child.program.name, reason, child.failures_in_a_row, delay, lines))

    def _stop_all(self) -> None:
        for stage in reversed(self._stages):
            running = [child for child in stage if child.is_running()]
            for child in running:
                self._send(child, child.program.stop_signal)
            deadline = time.monotonic() + max((child.program.grace_seconds for child in running), default=0.0)
            self._await_exit(running, deadline, impatient_after=1)
            for child in running:
                self._send(child, child.program.kill_signal)
            self._await_exit(running, time.monotonic() + KILL_WAIT_SECONDS, impatient_after=99)

    def _await_exit(self, children: Sequence[_Child], deadline: float, impatient_after: int) -> None:
        while any(child.is_running() for child in children):
            if time.monotonic() > deadline or self._stop_requests > impatient_after:
                return
            self._sleep(TICK_SECONDS)

    @staticmethod
    def _send(child: _Child, number: signal.Signals) -> None:
        if child.process is not None and child.is_running():
            child.process.send_signal(number)

    def _sleep(self, seconds: float) -> None:
        """Ends early when a signal or a child's exit arrives."""
        assert self._wakeup is not None
        if select.select([self._wakeup], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                self._wakeup.recv(4096)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        self._wakeup, writer = socket.socketpair()
        self._wakeup.setblocking(False)
        writer.setblocking(False)
        handlers = {
            signal.SIGINT: self._request_stop,
            signal.SIGTERM: self._request_stop,
            signal.SIGCHLD: lambda *_: None,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        before_descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before_descriptor)
            for number, handler in before.items():
                signal.signal(number, handler)
            writer.close()
            self._wakeup.close()

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_requests += 1
