"""Keeps secrets at rest."""

from __future__ import annotations

from typing import Protocol


class SecretBox(Protocol):
    def seal(self, secret: str, owner: str) -> bytes: ...

    def open(self, sealed: bytes, owner: str) -> str:
        """SHALL raise SecretUnreadableError unless it was sealed here for this very owner."""
        ...

    def renewed(self, sealed: bytes, owner: str) -> bytes:
        """The same secret under the present key: the very bytes when it is already. Raises as `open` does."""
        ...
