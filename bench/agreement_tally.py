"""How far our ALTO of one PDF agrees with poppler: counts that add up over files, and the shares they make."""

from __future__ import annotations

import dataclasses
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.unit.convert.samples import mapped
from tests.unit.reading.placed_words import (
    BOX_POINTS,
    Placed,
    aligned,
    alto_pages,
    is_near,
    overlap,
    paired,
    poppler_pages,
)

from quire.reading import open_pdf

PAGES_MAX = 30
LONGEST_PAGES = 5_000
SETTLED = 0.99


@dataclass(frozen=True)
class Tally:
    """Counts of words: `found` are poppler's that ours has too where it stands, `placed` those whose box is within
    2 points, `level` those whose left and right edges are, `parted` those that are a piece of one of ours. `settled`
    are all on pages about whose order nobody can argue: poppler's is the one in which the file draws them."""

    pages: int = 0
    theirs: int = 0
    ours: int = 0
    found: int = 0
    placed: int = 0
    level: int = 0
    parted: int = 0
    in_order: int = 0
    settled: int = 0
    settled_in_order: int = 0
    pairs: int = 0
    pairs_kept: int = 0

    def __add__(self, other: Tally) -> Tally:
        sums = map(sum, zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True))
        return Tally(*sums)

    def shares(self) -> dict[str, float]:
        return {
            "words": _share(self.found, self.theirs),
            "words, or pieces of ours": _share(self.found + self.parted, self.theirs),
            "our words": _share(self.found, self.ours),
            "boxes": _share(self.placed, self.found),
            "boxes, left and right": _share(self.level, self.found),
            "words in place": _share(self.placed, self.theirs),
            "order, where it is settled": _share(self.settled_in_order, self.settled),
            "order": _share(self.in_order, self.theirs),
            "neighbours": _share(self.pairs_kept, self.pairs),
        }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def tally(pdf: bytes) -> Tally:
    """Of its first pages: the first of as many equal shares of them as keep to `PAGES_MAX` each."""
    count = open_pdf(pdf, len(pdf), LONGEST_PAGES).page_count
    ours = alto_pages(mapped("alto", pdf, share=0, shares=-(-count // PAGES_MAX)))
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(pdf)
        file.flush()
        theirs = poppler_pages(Path(file.name), pages=len(ours))
        drawn = poppler_pages(Path(file.name), pages=len(ours), in_file_order=True)
    return sum((page_tally(*page) for page in zip(theirs, ours, drawn, strict=True)), Tally())


def page_tally(theirs: list[Placed], ours: list[Placed], drawn: list[Placed]) -> Tally:
    in_order = len(aligned(theirs, ours))
    is_settled = len(aligned(theirs, drawn)) >= SETTLED * len(theirs)
    pairs = paired(theirs, ours)
    boxes = [(theirs[one][1], ours[other][1]) for one, other in pairs.items()]
    taken = set(pairs.values())
    left = [word for number, word in enumerate(ours) if number not in taken]
    missing = [word for number, word in enumerate(theirs) if number not in pairs]
    steps = range(len(theirs) - 1)
    return Tally(
        pages=1,
        theirs=len(theirs),
        ours=len(ours),
        found=len(pairs),
        placed=sum(is_near(*both) for both in boxes),
        level=sum(abs(box[0] - other[0]) <= BOX_POINTS >= abs(box[2] - other[2]) for box, other in boxes),
        parted=sum(is_piece(word, left) for word in missing),
        in_order=in_order,
        settled=len(theirs) if is_settled else 0,
        settled_in_order=in_order if is_settled else 0,
        pairs=len(steps),
        pairs_kept=sum(step in pairs and pairs[step] + 1 == pairs.get(step + 1) for step in steps),
    )


def is_piece(word: Placed, others: list[Placed]) -> bool:
    text, box = word
    return any(text in other and overlap(box, place) for other, place in others)
