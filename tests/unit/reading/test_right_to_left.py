"""Rows with Hebrew or Arabic in them: every word, in the order of reading, wherever the parser had it."""

from __future__ import annotations

import pytest

from quire.reading.domain.right_to_left import Glyph, words_of

SHALOM, OLAM, TOV = "\u05e9\u05dc\u05d5\u05dd", "\u05e2\u05d5\u05dc\u05dd", "\u05d8\u05d5\u05d1"


def row(*seen: str) -> list[Glyph]:
    """Words as they stand from left to right, letters ten wide, five between words."""
    glyphs, left = [], 0.0
    for token, word in enumerate(seen):
        for letter in word:
            glyphs.append(Glyph(letter, left, left + 10, len(glyphs), token))
            left += 10
        left += 5
    return glyphs


def read(*seen: str) -> str:
    return " | ".join(" ".join(word.text for word in piece) for piece in words_of(row(*seen), 1.0))


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ((TOV[::-1], OLAM[::-1], SHALOM[::-1]), f"{SHALOM} {OLAM} {TOV}"),
        (("with", SHALOM[::-1], "inside."), f"with {SHALOM} inside."),
        (("with", OLAM[::-1], SHALOM[::-1], "inside."), f"with {SHALOM} {OLAM} inside."),
        (("." + OLAM[::-1], SHALOM[::-1]), f"{SHALOM} {OLAM}."),
        (("(A)", OLAM[::-1], SHALOM[::-1] + "."), f"(A) {SHALOM}. {OLAM}"),
        ((TOV[::-1], "123", SHALOM[::-1]), f"{SHALOM} 123 {TOV}"),
        (("12", "pieces,", "16", TOV[::-1], "more."), f"12 pieces, 16 {TOV} more."),
        ((f"2024-{TOV[0]}", SHALOM[::-1]), f"{SHALOM} {TOV[0]}-2024"),
    ],
)
def test_words_come_in_the_order_of_reading(seen: tuple[str, ...], said: str) -> None:
    assert read(*seen) == said


def test_brackets_that_the_parser_turned_round_are_turned_back() -> None:
    assert read("(A(", OLAM[::-1], SHALOM[::-1]) == f"{SHALOM} {OLAM} (A)"


def test_letters_keep_their_marks() -> None:
    assert read("\u05d1\u05b8\u05d0") == "\u05d0\u05d1\u05b8"


def test_words_know_where_they_stand() -> None:
    [[first, second]] = words_of(row(OLAM[::-1], SHALOM[::-1]), 1.0)
    assert (first.text, first.left, first.right) == (SHALOM, 45, 85)
    assert (second.text, second.left, second.right) == (OLAM, 0, 40)


def test_a_wide_gap_parts_a_row_as_columns_need() -> None:
    left, right = (
        row(SHALOM[::-1]),
        [glyph._replace(left=glyph.left + 90, right=glyph.right + 90) for glyph in row(TOV[::-1])],
    )
    assert [[word.text for word in piece] for piece in words_of([*right, *left], 1.0)] == [[SHALOM], [TOV]]


def test_signs_without_a_letter_are_words_too() -> None:
    assert read("\u05be", "with", "\u060c") == "\u05be with \u060c"


def test_long_rows_of_short_words_take_no_time_worth_mentioning() -> None:
    """Each word looked at once or twice, not once for every other: a file can have a million on a row."""
    words = words_of(row(*["ab", SHALOM] * 20_000), 1.0)
    assert sum(map(len, words)) == 40_000
