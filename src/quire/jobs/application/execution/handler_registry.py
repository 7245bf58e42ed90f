"""The kinds this process knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quire.jobs.ports.v1.handler import Handler


class HandlerRegistry:
    def __init__(self, handlers: Iterable[Handler] = ()) -> None:
        self._handlers: dict[str, Handler] = {}
        for handler in handlers:
            self.add(handler)

    def add(self, handler: Handler) -> None:
        if handler.kind in self._handlers:
            raise ValueError(f"kind {handler.kind} is registered twice")
        self._handlers[handler.kind] = handler

    def get(self, kind: str) -> Handler | None:
        return self._handlers.get(kind)

    def __iter__(self) -> Iterator[Handler]:
        return iter(self._handlers.values())
