"""Which bold texts are headings and which are cells."""

from __future__ import annotations

from quire.reading import Document, Kind, flow_of
from quire.reading.domain.page import Block, Box, Line, Page, TextStyle, Word

PLAIN, BOLD, LARGE, QUOTE = range(4)
STYLES = tuple(
    TextStyle("Inter", size, is_bold, False)
    for size, is_bold in ((10, False), (10, True), (20, True), (13, False))
)
PROSE = "so much of a sentence as a column of prose has in a line of its own"


def block(text: str, left: float, baseline: float, style: int = PLAIN, width: float = 0.0) -> Block:
    """One line; a character is half as wide as it is high unless `width` says otherwise."""
    size = STYLES[style].size
    box = Box(left, baseline - size, left + (width or 0.5 * size * len(text)), baseline)
    return Block((Line((Word(text, *box, style),), box, baseline, False),), box)


def headings(*blocks: Block) -> list[str]:
    document = Document((Page(1, 595, 842, 0, blocks),), STYLES)
    return [passage.text for passage in flow_of(document) if passage.kind is Kind.HEADING]


def items(*blocks: Block) -> list[tuple[str, str]]:
    document = Document((Page(1, 595, 842, 0, blocks),), STYLES)
    return [(passage.label, passage.text) for passage in flow_of(document)]


def test_a_number_that_hangs_in_a_column_of_its_own_begins_the_text_beside_it() -> None:
    assert items(
        block("1.1", 50, 299), block("The first.", 90, 300), block("1.2", 50, 319), block("The next.", 90, 320)
    ) == [("1.1", "The first."), ("1.2", "The next.")]  # fmt: skip
    assert items(block("1.1", 50, 280), block("Of another line.", 90, 300))[0] == ("", "1.1")


def test_a_key_figure_is_no_number_of_an_item() -> None:
    figures = [block("7.4 NTU", 50, 300), block("5.1 mg/l", 150, 300), block("14", 250, 300)]
    row = Block(tuple(part.lines[0] for part in figures), Box(50, 290, 260, 300))
    axis = Block(
        tuple(part.lines[0] for part in (block("4.9", 50, 400), block("5.2", 90, 400))),
        Box(50, 390, 110, 400),
    )
    assert items(row, axis) == [("", "7.4 NTU 5.1 mg/l 14"), ("", "4.9 5.2")]


def test_a_sentence_in_large_letters_is_no_heading() -> None:
    quoted = block("A dry spring makes clear water, and a hard summer for the fish.", 50, 300, QUOTE)
    title = block("Water", 50, 100, LARGE)
    assert headings(title, quoted, *(block(PROSE, 50, 400 + 15 * n) for n in range(9))) == ["Water"]


def test_bold_text_alone_on_its_line_is_a_heading() -> None:
    assert headings(block("Scope", 50, 300, BOLD), block(PROSE, 50, 315)) == ["Scope"]


def test_bold_cells_of_a_row_are_no_headings() -> None:
    header = [block(name, left, 300, BOLD) for name, left in (("Item", 50), ("Price", 300), ("Total", 450))]
    row = [block("Widget", 50, 315, BOLD), block("9,00", 300, 315), block("18,00", 450, 315)]
    assert headings(*header, *row, block(PROSE, 50, 400)) == []


def test_a_bold_term_beside_its_long_explanation_is_no_heading() -> None:
    terms = [block("cat", 50, 300, BOLD), block("chmod", 50, 315, BOLD)]
    assert headings(*terms, block(PROSE, 120, 300), block(PROSE, 120, 315)) == []


def test_a_heading_in_a_column_of_prose_is_one_although_the_other_column_goes_on_beside_it() -> None:
    left = [block("Scope", 50, 300, BOLD), block(PROSE, 50, 315, width=230)]
    right = [block(PROSE, 310, 300, width=230), block(PROSE, 310, 315, width=230)]
    assert headings(*left, *right) == ["Scope"]


def test_a_number_that_a_tab_sets_apart_belongs_to_its_heading() -> None:
    parts = block("1.", 50, 300, BOLD), block("Scope", 90, 300, BOLD)
    numbered = Block(tuple(part.lines[0] for part in parts), Box(50, 290, 115, 300))
    assert headings(numbered, block(PROSE, 50, 315)) == ["1. Scope"]


def test_the_largest_text_is_the_title_whatever_stands_beside_it() -> None:
    letterhead = block("Invoice 42", 50, 100, LARGE), block("Kiel", 400, 100), block(PROSE, 50, 315)
    assert headings(*letterhead, block("Total", 50, 400, BOLD), block("9,00", 300, 400)) == ["Invoice 42"]
