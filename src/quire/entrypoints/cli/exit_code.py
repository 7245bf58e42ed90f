"""Exit codes of every command: 0 done, 1 refused, 2 wrong usage, 3 a part is unavailable (try again)."""

from __future__ import annotations

from quire.kernel import QuireError

REFUSED = 1
UNAVAILABLE = 3


def exit_code_of(error: QuireError) -> int:
    return UNAVAILABLE if error.retryable else REFUSED
