"""How a long-lived process collects garbage: what its start made is never looked at again, and young objects are
looked at rarely. A job makes dozens of short-lived objects, hardly any of them in cycles."""

from __future__ import annotations

import gc

# Python's own are 700, 10 and 10: a worker at full speed would spend a quarter of its time looking for cycles.
THRESHOLDS = (50_000, 20, 50)


def settle_garbage() -> None:
    """Call it once, when everything is wired."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
