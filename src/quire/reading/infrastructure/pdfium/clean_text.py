"""Words without what no document may hold, and with their letters spelt out."""

from __future__ import annotations

import re

LIGATURES = str.maketrans({"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
                           "\ufb05": "st", "\ufb06": "st"})  # fmt: skip
LIGATURE = re.compile("[\ufb00-\ufb06]")
# In TeX's symbol fonts, of which a file often says no more than the code.
TEX_BULLET = "\x88"
HALF = re.compile("[\ud800-\udfff]")
# What a word may have to be cleaned of. A page is searched once for all of its words.
ODD = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\uf8ff\ufb00-\ufb06\ufe00-\ufe0f\ufeff"
    "\ufff0-\uffff\U000e0000-\U0010ffff]"
)


def cleaned(text: str) -> tuple[str, float]:
    """Ligatures spelt out, soft hyphens and what no document may hold left out; and how much of it has a meaning."""
    if text == TEX_BULLET:
        return "•", 1.0
    if HALF.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if LIGATURE.search(text):
        text = text.translate(LIGATURES)
    kept = [c for c in text if c.isprintable() or ("\ue000" <= c <= "\uf8ff")]
    known = sum(1 for c in kept if not "\ue000" <= c <= "\uf8ff" and c != "\ufffd")
    return "".join(kept), round(known / len(kept), 2) if kept else 0.0
