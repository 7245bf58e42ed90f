"""May this work be accepted now? The control plane answers; without one the engine's own checks stand alone."""

from __future__ import annotations

from typing import Protocol


class Admission(Protocol):
    async def check(self, kind: str, queue: str, tenant_id: str, count: int) -> None:
        """SHALL raise a QuireError (UnavailableError, RateLimitedError) when the work must not be accepted now."""
        ...


class AdmitAll:
    """No control plane: everything within the engine's own limits is accepted."""

    async def check(self, kind: str, queue: str, tenant_id: str, count: int) -> None:
        return None
