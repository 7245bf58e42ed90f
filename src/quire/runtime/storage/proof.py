"""Proves a storage by using it: an object goes in, comes back the same and is gone again."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

from quire.kernel import new_uuid7
from quire.runtime.storage.backend import StorageBackend
from quire.runtime.storage.errors import StorageCorruptError

PROBE_PREFIX = "quire-check"


@dataclass(frozen=True)
class StorageProof:
    put_ms: float
    get_ms: float
    delete_ms: float


async def prove_storage(backend: StorageBackend) -> StorageProof:
    """Raises what is wrong. Makes nothing but the object, and removes it again."""
    await backend.ensure_ready()
    name = new_uuid7()
    key, data = f"{PROBE_PREFIX}/{name}", str(name).encode()
    times = [time.perf_counter()]
    await backend.put_bytes(key, data)
    try:
        times.append(time.perf_counter())
        if await backend.get_bytes(key, max_bytes=len(data)) != data:
            raise StorageCorruptError("the probe came back changed")
        times.append(time.perf_counter())
    finally:
        await backend.delete(key)
    times.append(time.perf_counter())
    put_ms, get_ms, delete_ms = (1000 * (b - a) for a, b in itertools.pairwise(times))
    return StorageProof(round(put_ms, 1), round(get_ms, 1), round(delete_ms, 1))
