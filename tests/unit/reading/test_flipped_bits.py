"""One bit turned over anywhere in what a file packs: the same words, or a refusal. Never other words."""

from __future__ import annotations

import random
import re

import pytest
from tests.unit.convert.samples import mapped, sample

from quire.kernel import QuireError

FLIPS = 40
BEGIN = re.compile(rb"(?<!end)stream\r?\n")


def packed_streams(pdf: bytes) -> list[tuple[int, int]]:
    """Their bytes but for the head of zlib, which says nothing of the content, and the end of line behind them."""
    found = [(begin.end() + 2, pdf.index(b"endstream", begin.end()) - 3) for begin in BEGIN.finditer(pdf)]
    return [(begin, end) for begin, end in found if end - begin > 16]


def words(pdf: bytes) -> list[str]:
    return re.findall(r' CONTENT="([^"]*)"', mapped("alto", pdf).decode())


@pytest.mark.parametrize("name", ["own-contract-en", "zoo-design", "invoice-zugferd-small", "lcms"])
def test_a_bit_turned_over_changes_no_word_in_silence(name: str) -> None:
    pdf, chance = sample(name), random.Random(name)
    said, refused = words(pdf), 0
    for _ in range(FLIPS):
        place = chance.randrange(*chance.choice(packed_streams(pdf)))
        turned = pdf[:place] + bytes([pdf[place] ^ 1 << chance.randrange(8)]) + pdf[place + 1 :]
        try:
            assert words(turned) == said, place
        except QuireError:
            refused += 1
    assert refused
