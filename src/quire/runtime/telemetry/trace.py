"""Trace ids from request to artifact (W3C Trace Context). Ids are always made and carried; SDK spans exist
only while an exporter is configured, so that an untraced job pays about a microsecond."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self

from opentelemetry import trace as otel
from opentelemetry.context import Context

Attribute = str | bool | int | float

# Later versions may add fields after the flags; version ff and all-zero ids are not valid.
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-[!-~]*)?", re.ASCII
)

_current: ContextVar[Span | None] = ContextVar("quire_span", default=None)
_tracer: otel.Tracer | None = None


def use_tracer(tracer: otel.Tracer | None) -> None:
    """From now on spans are recorded with this tracer; None stops that."""
    global _tracer
    _tracer = tracer


class Span:
    """A context manager. Its ids are made when first asked for, and stay."""

    __slots__ = ("_attributes", "_parent", "_reset", "_sdk", "_span_id", "_trace_id", "flags", "name")

    def __init__(
        self, name: str, traceparent: str | None, attributes: Mapping[str, Attribute] | None
    ) -> None:
        self.name = name
        self._attributes = attributes
        self._sdk: otel.Span | None = None
        self._reset: Token[Span | None] | None = None
        self._parent = parse_traceparent(traceparent) or _ids_of(_current.get())
        self._trace_id, _, self.flags = self._parent or ("", "", "01")
        self._span_id = ""

    @property
    def trace_id(self) -> str:
        """Made when first asked for, as the span's own."""
        if not self._trace_id:
            self._trace_id = f"{random.getrandbits(128) or 1:032x}"
        return self._trace_id

    @property
    def span_id(self) -> str:
        """Made when first asked for: most jobs' spans are never named to anybody."""
        if not self._span_id:
            self._span_id = f"{random.getrandbits(64) or 1:016x}"
        return self._span_id

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"

    def set_attribute(self, key: str, value: Attribute) -> None:
        if self._sdk is not None:
            self._sdk.set_attribute(key, value)

    def __enter__(self) -> Self:
        if _tracer is not None:
            self._record(_tracer)
        self._reset = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._reset is not None:
            _current.reset(self._reset)
        if self._sdk is not None:
            if error is not None:
                self._sdk.record_exception(error)
                self._sdk.set_status(otel.Status(otel.StatusCode.ERROR, type(error).__name__))
            self._sdk.end()

    def _record(self, tracer: otel.Tracer) -> None:
        self._sdk = tracer.start_span(
            self.name, _sdk_context(self._parent), attributes=dict(self._attributes or {})
        )
        made = self._sdk.get_span_context()
        self._trace_id = otel.format_trace_id(made.trace_id)
        self._span_id = otel.format_span_id(made.span_id)
        self.flags = f"{made.trace_flags:02x}"


def start_span(
    name: str, traceparent: str | None = None, attributes: Mapping[str, Attribute] | None = None
) -> Span:
    """Continues `traceparent`, else the current span, else begins a trace. Use it with `with`."""
    return Span(name, traceparent, attributes)


def current_trace_id() -> str | None:
    span = _current.get()
    return span.trace_id if span else None


def current_traceparent() -> str | None:
    span = _current.get()
    return span.traceparent if span else None


def parse_traceparent(text: str | None) -> tuple[str, str, str] | None:
    """(trace_id, span_id, flags), or None for what is no valid traceparent."""
    found = _TRACEPARENT.fullmatch(text) if text else None
    return (found[1], found[2], found[3]) if found else None


def _ids_of(span: Span | None) -> tuple[str, str, str] | None:
    return (span.trace_id, span.span_id, span.flags) if span else None


def _sdk_context(parent: tuple[str, str, str] | None) -> Context:
    if parent is None:
        return Context()
    context = otel.SpanContext(
        int(parent[0], 16),
        int(parent[1], 16),
        is_remote=True,
        trace_flags=otel.TraceFlags(int(parent[2], 16)),
    )
    return otel.set_span_in_context(otel.NonRecordingSpan(context), Context())
