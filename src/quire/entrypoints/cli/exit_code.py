"""Exit codes of every command: 0 done, 1 refused, 2 wrong usage, 3 a part is unavailable (try again), and of
commands that wait for a job: 4 it ended without success, 5 it had not ended in time."""

from __future__ import annotations

from quire.kernel import QuireError

REFUSED = 1
UNAVAILABLE = 3
JOB_FAILED = 4
NOT_ENDED = 5


def exit_code_of(error: QuireError) -> int:
    return UNAVAILABLE if error.retryable else REFUSED
