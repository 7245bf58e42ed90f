"""Which kinds a subscription wants: exact names, or `context.*`."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable

from quire.jobs.domain.webhooks.webhook_errors import WebhookKindError
from quire.kernel import there_is


def check_kind_patterns(patterns: Iterable[str], kinds: Collection[str]) -> None:
    """Each has to match one of `kinds`: a misspelt one would wait for events that never come."""
    for pattern in patterns:
        if not fnmatch.filter(kinds, pattern):
            raise WebhookKindError(f"no kind matches {pattern[:100]!r}; {there_is(kinds, pattern)}")
