"""A claimed row as a lease."""

from __future__ import annotations

import time
from collections.abc import Iterable

import asyncpg

from quire.jobs.domain.lease import Lease


def leases_of(rows: Iterable[asyncpg.Record], *, probe: bool = False) -> list[Lease]:
    """The claim statements select exactly the fields of a lease, in their order."""
    now = time.monotonic()
    return [Lease(*row, now, probe) for row in rows]  # type: ignore[call-arg]
