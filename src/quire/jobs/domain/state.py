"""The one transition table. SQL moves rows; nothing may move them along an edge that is not here."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


TRANSITIONS: dict[JobState | None, frozenset[JobState]] = {
    None: frozenset({JobState.WAITING, JobState.QUEUED}),
    JobState.WAITING: frozenset({JobState.QUEUED, JobState.FAILED, JobState.CANCELLED}),
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    # Back to queued: a retry, a hand-back at shutdown, or a reclaim after the lease ran out.
    JobState.RUNNING: frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.QUEUED, JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset({JobState.EXPIRED}),
    # A person's decision brings a failed job back; waiting again when a child of it is retried.
    JobState.FAILED: frozenset({JobState.QUEUED, JobState.WAITING, JobState.EXPIRED}),
    JobState.CANCELLED: frozenset({JobState.EXPIRED}),
    JobState.EXPIRED: frozenset(),
}

# A second request with the same key is answered with a job in one of these.
LIVE_STATES = frozenset({JobState.WAITING, JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED})
ENDED_STATES = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})


def may_move(source: JobState | None, target: JobState) -> bool:
    return target in TRANSITIONS[source]
