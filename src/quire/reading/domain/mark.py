"""The marks that begin a clause, an item or a heading: `•`, `4.`, `4.1`, `(a)`, `iv)`. They stand in the line, or hang
in a column of their own left of it."""

from __future__ import annotations

import re

BULLETS = r"[•◦▪■●○–—‣·*▶►▸➤❖✓]"
NUMBERS = (
    r"\(?(?:\d{1,3}|[a-zа-яё]|[ivx]{1,5})\)|\([A-ZА-ЯЁ]\)"
    r"|\d{1,3}(?:\.\d{1,3}){0,4}\.|\d{1,3}(?:\.\d{1,3}){1,4}"
)
BULLET = re.compile(rf"{BULLETS}\s+(?=\S)")
NUMBER = re.compile(rf"(?:{NUMBERS})\s+(?=\S)")
# Of a clause, or of a key figure: `7.4`.
DECIMAL = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,4}")
ALONE = re.compile(rf"{BULLETS}|{NUMBERS}")


def is_mark(text: str) -> bool:
    """All of it is one."""
    return ALONE.fullmatch(text) is not None
