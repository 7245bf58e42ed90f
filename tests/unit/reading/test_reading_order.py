"""The order of blocks on pages that are drawn in a few lines here, each with the words it has and the place it has."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pytest

from quire.reading.domain.layout import blocks_of, whole_lines
from quire.reading.domain.page import Block, Box, Line, Word, around
from quire.reading.domain.reading_order import in_reading_order
from quire.reading.domain.side_table import Rule

SIZE = 10.0
LETTER = 5.0


def line(text: str, left: float, baseline: float, size: float = SIZE) -> Line:
    words, edge = [], left
    top, bottom = baseline - 0.8 * size, baseline + 0.2 * size
    for part in text.split():
        right = edge + LETTER * len(part)
        words.append(Word(part, edge, top, right, bottom, 0))
        edge = right + LETTER
    return Line(tuple(words), Box(left, top, words[-1].right, bottom), baseline, False)


def read(*drawn: tuple[str, float, float], rules: tuple[Rule, ...] = ()) -> list[str]:
    """The page's lines as they are read, of lines in the order in which the file draws them."""
    blocks = in_reading_order(blocks_of(line(*one) for one in drawn), lambda: rules)
    return [each.text for block in blocks for each in block.lines]


def test_boxes_side_by_side_are_read_one_after_the_other_though_a_spreadsheet_draws_them_row_by_row() -> None:
    assert read(
        ("A heading that runs over the whole page, from its left to its right", 50, 60),
        ("Our references of today", 50, 100),
        ("Your numbers with us", 300, 100),
        ("Customer no. R 0215", 50, 112),
        ("Location code 365 478", 300, 112),
        ("Order no. S 2547", 50, 124),
        ("Register no. 98 765", 300, 124),
        ("Routing code one two", 300, 136),
        ("Tax no. FR 05", 300, 148),
    ) == [
        "A heading that runs over the whole page, from its left to its right",
        "Our references of today", "Customer no. R 0215", "Order no. S 2547",
        "Your numbers with us", "Location code 365 478", "Register no. 98 765", "Routing code one two", "Tax no. FR 05",
    ]  # fmt: skip


def test_terms_stay_with_what_explains_them() -> None:
    assert read(
        ("-i", 50, 100),
        ("If this option is present, the shell asks", 100, 100),
        ("-l", 50, 112),
        ("Makes the shell a login shell", 100, 112),
        ("-r", 50, 124),
        ("Makes the shell a restricted one", 100, 124),
    ) == [
        "-i", "If this option is present, the shell asks",
        "-l", "Makes the shell a login shell",
        "-r", "Makes the shell a restricted one",
    ]  # fmt: skip


def test_numbers_that_hang_left_of_their_clauses_are_read_with_them() -> None:
    assert read(
        ("8.1", 50, 99),
        ("8.2", 50, 115),
        ("Changes to this agreement need the written form", 90, 100),
        ("Should a provision be invalid, the others remain", 90, 116),
        ("in force and are replaced by others", 90, 128),
    ) == [
        "8.1", "Changes to this agreement need the written form",
        "8.2", "Should a provision be invalid, the others remain", "in force and are replaced by others",
    ]  # fmt: skip


def test_the_number_of_the_next_clause_does_not_end_the_one_above() -> None:
    clauses = [("2.1", 50, 99), ("The fee is stated in the schedule", 75, 100), ("2.2", 50, 115),
               ("It is payable in five days", 75, 116)]  # fmt: skip
    blocks = blocks_of(line(*one) for one in clauses)
    assert [[each.text for each in block.lines] for block in blocks][1] == [
        "The fee is stated in the schedule"
    ]


def test_the_forms_in_which_two_parties_sign_are_read_one_after_the_other() -> None:
    left = ("Provider", "Nordlicht GmbH", "Signature", "Name: Ingrid", "Date and place")
    right = ("Client", "Aqua Lab B.V.", "Signature", "Name: Marieke", "Date and place")
    rows = [(text, at, 100 + 30 * row) for row, pair in enumerate(zip(left, right, strict=True))
            for text, at in zip(pair, (50, 300), strict=True)]  # fmt: skip
    above, below = (
        "Signed by the parties to this agreement on the dates below:",
        "Each party has one copy of it.",
    )
    assert read((above, 50, 70), *rows, (below, 50, 300)) == [above, *left, *right, below]


def test_footnotes_keep_the_place_of_their_marks() -> None:
    assert read(
        ("One of the notes of this page", 60, 700),
        ("1", 50, 706),
        ("Another one of the notes of this page", 60, 712),
        ("2", 50, 718),
        ("The last one of the notes", 60, 724),
    ) == [
        "One of the notes of this page", "1", "Another one of the notes of this page", "2", "The last one of the notes",
    ]  # fmt: skip


def test_cells_of_several_lines_stay_whole_in_a_row_whose_number_stands_in_the_middle() -> None:
    assert read(
        ("3", 50, 106),
        ("Order 2", 80, 100),
        ("Ref B", 80, 112),
        ("A call", 160, 100),
        ("Half an hour", 160, 112),
        ("7.00", 300, 106),
    ) == ["3", "Order 2", "Ref B", "A call", "Half an hour", "7.00"]


def test_a_column_drawn_as_one_text_is_read_with_its_rows() -> None:
    assert read(
        ("Discount one", 50, 100),
        ("1 %", 200, 100),
        ("Discount two", 50, 112),
        ("2 %", 200, 112),
        ("-1.00", 300, 100),
        ("-2.00", 300, 112),
    ) == ["Discount one", "1 %", "-1.00", "Discount two", "2 %", "-2.00"]


def test_a_value_of_two_lines_follows_its_label() -> None:
    assert read(
        ("Aqua Lab", 50, 102),
        ("Gracht 241", 50, 114),
        ("Amsterdam", 50, 126),
        ("Statement no.", 150, 100),
        ("2026-10", 300, 100),
        ("Account", 150, 120),
        ("NL91 ABNA", 300, 120),
        ("Operating account", 300, 132),
    ) == [
        "Aqua Lab",
        "Gracht 241",
        "Amsterdam",
        "Statement no.",
        "2026-10",
        "Account",
        "NL91 ABNA",
        "Operating account",
    ]


def test_texts_side_by_side_follow_each_its_heading() -> None:
    assert read(
        ("A line over the whole width of this page, from left to right", 50, 60),
        ("BILL TO", 50, 100),
        ("DELIVER TO", 300, 100),
        ("Aqua Lab B.V.", 50, 120),
        ("Gracht 241", 50, 132),
        ("Amsterdam", 50, 144),
        ("Station West", 300, 120),
        ("Amsterdam-West", 300, 132),
    ) == [
        "A line over the whole width of this page, from left to right",
        "BILL TO", "Aqua Lab B.V.", "Gracht 241", "Amsterdam",
        "DELIVER TO", "Station West", "Amsterdam-West",
    ]  # fmt: skip


def test_the_second_line_of_a_cell_stays_with_the_first_though_the_row_is_set_tight() -> None:
    assert read(
        ("03 2.00 Support at weekends and", 50, 100),
        ("holidays", 90, 112),
        ("180.00", 300, 100),
        ("04 3.25 Rounding", 50, 124),
        ("95.38", 300, 124),
    ) == ["03 2.00 Support at weekends and", "holidays", "180.00", "04 3.25 Rounding", "95.38"]


TAXES_AND_TOTALS = (
    ("Rate", 50, 100), ("VAT", 150, 100), ("Items", 300, 106), ("7,468", 450, 106),
    ("19 %", 50, 120), ("1,384", 150, 120), ("Discount", 300, 120), ("-180", 450, 120),
    ("7 %", 50, 136), ("4.76", 150, 136), ("Freight", 300, 136), ("65", 450, 136),
    ("Total", 300, 152), ("7,353", 450, 152),
)  # fmt: skip
TAXES = ["Rate", "VAT", "19 %", "1,384", "7 %", "4.76"]
TOTALS = ["Items", "7,468", "Discount", "-180", "Freight", "65", "Total", "7,353"]


def test_tables_side_by_side_are_told_apart_by_the_lines_drawn_in_them() -> None:
    own = (Rule(50, 230, 103), Rule(300, 480, 142))
    assert read(*TAXES_AND_TOTALS, rules=own) == TAXES + TOTALS


def test_a_line_through_both_makes_one_table_of_them() -> None:
    through = (Rule(50, 230, 103), Rule(300, 480, 142), Rule(50, 480, 110), Rule(50, 480, 126))
    assert read(*TAXES_AND_TOTALS, rules=through) == read(*TAXES_AND_TOTALS)
    assert read(*TAXES_AND_TOTALS)[:6] == ["Rate", "VAT", "Items", "7,468", "19 %", "1,384"]


def block(*places: tuple[float, float], height: float) -> Block:
    lines = [
        Line((Word("w", x, y - height, x + 10, y, 0),), Box(x, y - height, x + 10, y), y, False)
        for x, y in places
    ]
    return Block(tuple(lines), around([one.box for one in lines]))


CHANCE = random.Random(1)
TALL = [block((CHANCE.uniform(0, 100), 800 - 0.2 * n), height=300) for n in range(4000)]
CELLS = [
    block(*((20 * (n % 28), 5.3 * (n // 28) + 6 * row) for row in range(3)), height=5) for n in range(4000)
]
SCATTERED = [block((CHANCE.uniform(0, 590), CHANCE.uniform(0, 840)), height=1) for _ in range(499)]
RULES = [
    Rule(left, left + CHANCE.randrange(20, 250), 2 + 2.8 * n)
    for n, left in enumerate(CHANCE.choices(range(300), k=290))
]


@pytest.mark.parametrize(
    ("blocks", "rules"), [(TALL, ()), (CELLS, ()), (SCATTERED, RULES)], ids=["tall", "cells", "rules"]
)
def test_a_page_drawn_to_cost_time_is_put_in_order_in_little(
    blocks: list[Block], rules: Sequence[Rule]
) -> None:
    """Held one against all, the first took minutes, the second one minute."""
    began = time.process_time()
    ordered = in_reading_order(blocks, lambda: rules)
    assert time.process_time() - began < 1
    assert sum(len(one.lines) for one in ordered) == sum(len(one.lines) for one in blocks)


def column(word: str, left: float, baselines: range) -> list[tuple[str, float, float]]:
    return [(f"{word} {n} goes on with its text", left, n) for n in baselines]


def test_a_stripe_that_is_empty_in_both_columns_by_chance_ends_neither() -> None:
    upper, lower = column("left", 50, range(100, 184, 12)), column("left", 50, range(230, 290, 12))
    right = [*column("right", 300, range(100, 196, 12)), *column("right", 300, range(218, 290, 12))]
    drawn = [*upper, ("A heading here", 60, 206), *lower, *right, ("7", 260, 330)]
    assert read(*drawn) == [text for text, _, _ in drawn]


def test_rows_of_long_texts_that_begin_level_are_a_table() -> None:
    title = ("A title that runs over the whole page, from its left to its right end", 50, 60)
    rows = [
        (column("left", 50, range(top, top + 36, 12)), column("right", 300, range(top, top + 48, 12)))
        for top in (100, 170, 240)
    ]
    drawn = [title, *(line for left, right in rows for line in [*left, *right])]
    assert read(*drawn) == [text for text, _, _ in drawn]


def test_a_table_within_a_column_of_text_is_read_with_its_column() -> None:
    left = column("left", 50, range(100, 196, 12))
    cells = [
        ("ours", 300, 100), ("4.0", 380, 100), ("8.1", 440, 100),
        ("theirs", 300, 112), ("7.5", 380, 112), ("9.9", 440, 112),
    ]  # fmt: skip
    right = column("right", 300, range(136, 232, 12))
    assert read(*left, *cells, *right) == [text for text, _, _ in [*left, *cells, *right]]


@pytest.mark.parametrize(("size", "place"), [(14.0, 20), (SIZE, 10)])
def test_a_heading_below_both_columns_goes_with_what_runs_across_them(size: float, place: int) -> None:
    """A line of the text's own size, there, is the first column's last."""
    left = [(f"left {n} with some more words in it", 50.0, 100 + 12.0 * n) for n in range(10)]
    right = [(f"right {n} with some more words too", 300.0, 100 + 12.0 * n) for n in range(10)]
    below = line("Table", 50, 250, size)
    across = line("what runs over the whole page from its left to its right, and on to its end", 50, 280)
    drawn = [*(line(*one) for one in (*left, *right)), below, across]
    blocks = in_reading_order(blocks_of(drawn))
    texts = [each.text for block in blocks for each in block.lines]
    assert (texts.index("Table"), len(texts), texts[-1]) == (place, 22, across.text)


def test_a_running_title_in_two_pieces_is_read_before_the_columns_under_it() -> None:
    left, right = column("left", 50, range(100, 196, 12)), column("right", 300, range(100, 196, 12))
    title, number = ("The name of the paper", 50, 60), ("17", 450, 60)
    assert read(title, *left, number, *right) == [text for text, _, _ in [title, number, *left, *right]]


def test_a_line_that_an_exponent_took_apart_is_one() -> None:
    mark = line("2", 100, 96)
    mark = mark._replace(box=mark.box._replace(top=90, bottom=97))
    before, after = line("our method", 50, 100), line("we call so", 108, 100)
    (whole,) = whole_lines([before, mark, after])
    assert (whole.text, whole.baseline) == ("our method 2 we call so", 100)
    assert len(whole_lines([before, line("cell", 130, 100), line("below it", 50, 112)])) == 3


def test_a_row_of_texts_beside_a_single_number_is_read_text_by_text_though_their_lines_are_level() -> None:
    title = ("A title that runs over the whole page, from its left to its right end", 50, 60)
    row = [
        ("9", 50, 100),
        ("Users of an installed copy", 80, 100),
        ("cannot save what they set", 80, 112),
        ("for themselves, nor load it", 80, 124),
        ("They are to have a", 300, 100),
        ("place of their own, and", 300, 112),
        ("not one for all of them", 300, 124),
    ]
    assert read(title, *row) == [text for text, _, _ in [title, *row]]


def test_bullets_drawn_before_all_of_their_items_are_read_with_them() -> None:
    bullets = [("•", 50, baseline) for baseline in (100, 112, 136)]
    items = [
        ("One item of a list", 58, 100),
        ("Another that has more to say than", 58, 112),
        ("there is room for in one line", 58, 124),
        ("The last of them", 58, 136),
    ]
    assert read(*bullets, *items) == ["•", items[0][0], "•", items[1][0], items[2][0], "•", items[3][0]]
