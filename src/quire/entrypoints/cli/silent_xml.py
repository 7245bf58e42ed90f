"""XML with not a word of text in it, as a scan gives: whoever converts one should hear of it."""

from __future__ import annotations

import re
from pathlib import Path

# Of the mappings that give a document's text: what shows that there is any.
WORD = {
    "alto": re.compile(rb"<String "),
    "tei": re.compile(rb"<body\b.*?>[^<\s]", re.DOTALL),
    "akn": re.compile(rb"</meta>.*?>[^<\s]", re.DOTALL),
}
# Thousands of pages without a word are smaller than this.
LOOKED_AT_BYTES = 4_194_304


def says_nothing(path: Path, mapping: str) -> bool:
    word = WORD.get(mapping)
    if word is None or path.stat().st_size > LOOKED_AT_BYTES:
        return False
    return word.search(path.read_bytes()) is None
