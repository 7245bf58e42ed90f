"""A message system outside Postgres. What it carries is a hint: it may lose, repeat and reorder messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Message:
    """The whole of what travels: which job, and whose trace it belongs to. `queue` is its address."""

    job_id: UUID
    queue: str
    traceparent: str | None = None


class Letterbox(Protocol):
    """Where received messages go. Called from any thread."""

    def offer(self, message: Message, timeout_seconds: float | None = None) -> bool:
        """Waits for room; False when there was none in time, or will be none any more."""
        ...

    def await_room(self, timeout_seconds: float) -> bool: ...


class Reception(Protocol):
    def close(self) -> None:
        """SHALL return when no more messages will be offered."""
        ...


class Messenger(Protocol):
    """Blocking calls. Every method SHALL raise BrokerUnavailableError when the system cannot be reached, within
    seconds, and SHALL connect anew by itself with the next call."""

    def ping(self) -> None: ...

    def publish(self, messages: Sequence[Message]) -> None:
        """MAY have sent some of them when it raises."""
        ...

    def depth(self, queue: str) -> int:
        """Messages of a queue that nobody has received yet."""
        ...

    def receive(self, queues: Sequence[str], letterbox: Letterbox) -> Reception:
        """Offers every message of these queues from threads of its own, in no promised order, and connects anew by
        itself. SHALL acknowledge a message as soon as it was accepted: its work is not the message's business."""
        ...

    def close(self) -> None: ...
