"""The identity of work: equal tenant, kind, payload and parameters make an equal key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from quire.kernel import canonical_json


def job_key_of(tenant_id: str, kind: str, payload: bytes, parameters: Mapping[str, object]) -> bytes:
    """`payload` is canonical JSON already: it is hashed and stored as the same bytes."""
    scope = (
        canonical_json([tenant_id, kind, dict(parameters)]) if parameters else _plain_scope(tenant_id, kind)
    )
    return hashlib.sha256(scope + b"\n" + payload).digest()


@lru_cache(maxsize=1024)
def _plain_scope(tenant_id: str, kind: str) -> bytes:
    return canonical_json([tenant_id, kind, {}])
