"""pdfplumber's words with their boxes: prints the seconds that so many pages took, imports apart."""

from __future__ import annotations

import sys
import time

import pdfplumber  # type: ignore[import-not-found]  # of the peers' environment

began = time.perf_counter()
with pdfplumber.open(sys.argv[1]) as pdf:
    words = [page.extract_words() for page in pdf.pages[: int(sys.argv[2])]]
assert all(words)
print(time.perf_counter() - began)
