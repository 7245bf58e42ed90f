"""Which JSON values the database keeps and every reader can read back: no NUL in texts, no abyss."""

from __future__ import annotations

from collections.abc import Mapping

DEEPEST = 64


def flaw_of(value: object, text: bytes) -> str | None:
    """What is wrong with it, if anything. `text` is its JSON: nearly all have nothing to look for and are not
    walked."""
    if text.count(b"{") + text.count(b"[") <= DEEPEST and b"\\u0000" not in text:
        return None
    rest: list[tuple[object, int]] = [(value, 0)]
    while rest:
        item, depth = rest.pop()
        if isinstance(item, str):
            if "\0" in item:
                return "text with a NUL character cannot be stored"
        elif isinstance(item, Mapping | list | tuple):
            if depth == DEEPEST:
                return f"nested deeper than {DEEPEST} levels"
            rest.extend((inner, depth + 1) for inner in item)
            if isinstance(item, Mapping):
                rest.extend((inner, depth + 1) for inner in item.values())
    return None
