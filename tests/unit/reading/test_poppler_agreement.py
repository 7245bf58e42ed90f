"""Words, their order and their boxes, held against poppler's on documents of others."""

from __future__ import annotations

import pytest
from tests.unit.convert.samples import NAMES, READ_BY_EYE, SAMPLES, mapped, sample
from tests.unit.reading.placed_words import Placed, aligned, alto_pages, is_near, paired, plain, poppler_pages

# Of all words: of poppler's, so that none is missing, and of ours, so that none is added.
SAME_WORDS = 0.99
ORDERS = SAMPLES.parent / "order"
NOWHERE = (0.0, 0.0, 0.0, 0.0)
# The line that the footer of this invoice hides is text of the file, which poppler has too, and nothing of the picture.
UNSEEN_WORDS = {"invoice-factur-x": 15}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in READ_BY_EYE])
def test_alto_has_popplers_words_in_popplers_order_at_popplers_places(name: str) -> None:
    ours, theirs = our_pages(name), poppler_pages(SAMPLES / f"{name}.pdf")
    pairs = [pair for page in zip(theirs, ours, strict=True) for pair in aligned(*page)]
    near = sum(is_near(*boxes) for boxes in pairs)
    assert near >= SAME_WORDS * count(theirs) > 0
    assert near >= SAME_WORDS * count(ours)


@pytest.mark.parametrize("name", READ_BY_EYE)
def test_alto_has_popplers_words_at_popplers_places_in_tables_and_columns_too(name: str) -> None:
    """In another order: poppler takes forms, tables and columns apart. What their pictures read is held against ours
    below."""
    ours, theirs = our_pages(name), poppler_pages(SAMPLES / f"{name}.pdf")
    found = sum(near_words(*page) for page in zip(theirs, ours, strict=True))
    assert found >= SAME_WORDS * count(theirs) > 0
    assert found >= SAME_WORDS * count(ours)


@pytest.mark.parametrize("name", READ_BY_EYE)
def test_invoices_and_columns_are_read_in_the_order_in_which_their_pictures_read(name: str) -> None:
    """How each came to be is told beside the samples."""
    pages = (ORDERS / f"{name}.txt").read_text(encoding="utf-8").split("\f")
    seen = [[(plain(word), NOWHERE) for word in page.split()] for page in pages]
    ours = our_pages(name)
    agreed = sum(len(aligned(*page)) for page in zip(seen, ours, strict=True))
    assert agreed >= SAME_WORDS * count(seen) > 0
    assert agreed >= SAME_WORDS * (count(ours) - UNSEEN_WORDS.get(name, 0))


def our_pages(name: str) -> list[list[Placed]]:
    return alto_pages(mapped("alto", sample(name)))


def near_words(theirs: list[Placed], ours: list[Placed]) -> int:
    return sum(is_near(theirs[one][1], ours[other][1]) for one, other in paired(theirs, ours).items())


def count(pages: list[list[Placed]]) -> int:
    return sum(map(len, pages))
