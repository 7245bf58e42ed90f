"""Objects in JSON whose keys are unique. Of two equal keys one value would be dropped in silence, and readers differ in
which: what was checked by one could be what another never sees."""

from __future__ import annotations

from collections.abc import Sequence

from quire.kernel.errors import MalformedRequestError

# A key from outside is quoted up to here.
SHOWN_LENGTH = 60


class DuplicateKeyError(MalformedRequestError):
    """An object has the same key twice."""

    code = "JSON_DUPLICATE_KEY"
    title = "A key of an object is given twice"


def unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """An `object_pairs_hook` of the JSON decoder, called for each object at each level."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DuplicateKeyError(f"the key {_first_repeated(pairs)!a} is given twice in one object")
    return found


def _first_repeated(pairs: Sequence[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key[:SHOWN_LENGTH]
        seen.add(key)
    raise AssertionError("no key is repeated")
