"""Times and sizes the way people read them."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def span(seconds: float) -> str:
    """0.5 ms to days, two figures that matter."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    for size, name in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"


def parsed(text: str) -> datetime:
    return datetime.fromisoformat(text)


def between(start: str | None, end: str | None) -> str:
    """How long it took; until now when it has no end yet; nothing when it never began."""
    if start is None:
        return ""
    last = parsed(end) if end else datetime.now(UTC)
    return span(max(0.0, (last - parsed(start)).total_seconds()))


def ago(text: str) -> str:
    """Also for a time ahead: `in 5.0 min`."""
    seconds = (datetime.now(UTC) - parsed(text)).total_seconds()
    return f"{span(seconds)} ago" if seconds >= 0 else f"in {span(-seconds)}"


def clock(text: str) -> str:
    """In the reader's own time zone, to the millisecond."""
    return parsed(text).astimezone().strftime("%H:%M:%S.%f")[:-3]


def size(size_bytes: int) -> str:
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
