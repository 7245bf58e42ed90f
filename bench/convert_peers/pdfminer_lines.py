"""pdfminer's layout, down to lines with their boxes: prints the seconds that so many pages took, imports apart."""

from __future__ import annotations

import sys
import time

from pdfminer.high_level import extract_pages  # type: ignore[import-not-found]  # of the peers' environment
from pdfminer.layout import LTTextContainer  # type: ignore[import-not-found]

began = time.perf_counter()
pages = list(extract_pages(sys.argv[1], maxpages=int(sys.argv[2])))
lines = [
    (line.bbox, line.get_text())
    for page in pages
    for box in page
    if isinstance(box, LTTextContainer)
    for line in box
]
assert lines
print(time.perf_counter() - began)
