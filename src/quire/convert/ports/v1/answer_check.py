"""Whether a gateway's answer may be kept, found out while it comes in."""

from __future__ import annotations

from typing import Protocol


class AnswerCheck(Protocol):
    """Of one answer. Every method SHALL raise a BadGatewayAnswerError for what the answer is and an
    AnswerUncheckedError for what this machine refuses, and nothing else. SHALL NOT block the event loop, and SHALL hold
    a bounded part of the answer, however long that is."""

    async def feed(self, chunk: bytes) -> None:
        """Raises what was found by now, which MAY be the fault of an earlier chunk. MAY wait when the check is far
        behind."""
        ...

    async def finish(self) -> None:
        """SHALL return only when all that was fed is one well-formed XML document: no longer than the check was told,
        without a document type, and nested no deeper than most readers go. MAY take a trusted gateway's word for it,
        if the bytes are those that the gateway gave it for."""
        ...

    def close(self) -> None:
        """SHALL leave nothing open, also in the middle, and SHALL succeed when it is closed."""
        ...
