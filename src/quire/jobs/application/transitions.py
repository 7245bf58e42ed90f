"""Tells a kind's own context what this process made of its jobs. For counting only: a process that dies tells nobody,
and the timelines in the database are the record."""

from __future__ import annotations

import time
from collections.abc import Callable

from quire.jobs.domain.lease import Lease
from quire.jobs.domain.state import JobState
from quire.jobs.domain.transition import Transition

Watcher = Callable[[Transition], None]

_WATCHERS: dict[str, Watcher] = {}
_LOGGED: set[str] = set()


def watch_transitions(kind: str, watcher: Watcher, *, logs: bool = False) -> None:
    """One watcher a kind and process; a second one takes its place. `logs`: it leaves a log line for each failed
    attempt, in words of its own, and the engine need not."""
    _WATCHERS[kind] = watcher
    (_LOGGED.add if logs else _LOGGED.discard)(kind)


def is_logged(kind: str) -> bool:
    return kind in _LOGGED


def is_watched(kind: str) -> bool:
    return kind in _WATCHERS


def note_transition(transition: Transition) -> None:
    watcher = _WATCHERS.get(transition.kind)
    if watcher is not None:
        watcher(transition)


def note_lease(
    lease: Lease,
    state: JobState,
    error_code: str | None = None,
    duration_ms: int | None = None,
    reason: str | None = None,
) -> None:
    """The same for a job in a worker's hands; costs one look-up for kinds that nobody watches."""
    watcher = _WATCHERS.get(lease.kind)
    if watcher is not None:
        age_seconds = lease.age_seconds + time.monotonic() - lease.claimed_at
        watcher(
            Transition(
                lease.kind,
                state,
                error_code,
                age_seconds,
                lease.job_id,
                lease.attempt,
                duration_ms,
                reason,
                lease.traceparent,
            )
        )
