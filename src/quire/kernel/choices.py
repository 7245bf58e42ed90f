"""What there is in place of a name that nobody knows: all of it when that is little, else what comes nearest."""

from __future__ import annotations

import difflib
from collections.abc import Collection

LISTED_MAX = 12
NEAREST_MAX = 5
# Names from outside are compared up to here.
COMPARED_LENGTH = 100


def there_is(names: Collection[str], wanted: str) -> str:
    """`there are: a, b, c`, for the end of a refusal."""
    known = sorted(names)
    if len(known) <= 1:
        return f"there is {known[0]} alone" if known else "there is none"
    if len(known) <= LISTED_MAX:
        return f"there are: {', '.join(known)}"
    near = difflib.get_close_matches(wanted[:COMPARED_LENGTH], known, NEAREST_MAX, cutoff=0.5)
    return f"nearest of {len(known)}: {', '.join(near)}" if near else f"none of {len(known)} is like it"
