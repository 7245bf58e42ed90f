"""What belongs to the paper and what to the text: rows that count the pages, entries of a table of contents."""

from __future__ import annotations

from quire.reading.domain.page import Block, Box, Document, Line, Page, TextStyle, Word
from quire.reading.domain.text_flow import Kind, flow_of

STYLE = TextStyle("Serif", 10.0, is_bold=False, is_italic=False)


def block(*lines: tuple[str, float, float]) -> Block:
    made = []
    for text, left, baseline in lines:
        right = left + 5 * len(text)
        words = tuple(Word(part, left, baseline - 8, right, baseline + 2, 0) for part in text.split())
        made.append(Line(words, Box(left, baseline - 8, right, baseline + 2), baseline, is_hyphenated=False))
    return Block(tuple(made), made[0].box)


def said(*pages: list[Block]) -> list[tuple[Kind, str]]:
    made = [Page(n, 600, 800, 0, tuple(blocks)) for n, blocks in enumerate(pages, 1)]
    return [(passage.kind, passage.text) for passage in flow_of(Document(tuple(made), (STYLE,)))]


def page(number: int, title: str) -> list[Block]:
    """Its title stands far from the edge, tight over the text."""
    return [block((f"{title} {number}", 100, 130), (f"Text {number * number} of it.", 100, 142))]


def test_a_row_that_counts_as_the_pages_do_is_no_text_whatever_its_title() -> None:
    kinds = said(page(11, "One"), page(12, "Another"), page(13, "A third"))
    assert [text for kind, text in kinds if kind is Kind.RUNNING] == ["One 11", "Another 12", "A third 13"]
    assert [text for kind, text in kinds if kind is not Kind.RUNNING] == [
        "Text 121 of it.",
        "Text 144 of it.",
        "Text 169 of it.",
    ]


def test_what_stands_beside_a_page_number_or_is_the_title_again_belongs_to_the_paper_of_two_pages_too() -> (
    None
):
    first = [block(("Agreement", 100, 200)), block(("Initials", 100, 780)), block(("Page 1 of 2", 400, 781))]
    second = [block(("Agreement", 100, 40)), block(("27/U", 400, 40)), block(("Text of it.", 100, 200))]
    kinds = said(first, second)
    assert [text for kind, text in kinds if kind is not Kind.RUNNING] == ["Agreement", "Text of it."]


def test_sentences_under_each_other_that_end_with_their_lines_are_one_each() -> None:
    items = ("Replace the power supply.", "Add a second probe there.", "Publish all the values.")
    drawn = block(*((text, 100, 300 + 12 * n) for n, text in enumerate(items)))
    assert [text for _, text in said([drawn])] == list(items)
    prose = block(
        ("Replace the power supply. Add", 100, 300),
        ("a second probe there.", 100, 312),
        ("Publish.", 100, 324),
    )
    assert len(said([prose])) == 1


def test_a_stamp_across_several_pages_is_no_text() -> None:
    box = Box(110, 240, 480, 530)
    stamp = Block((Line((Word("DRAFT", *box, 0),), box, 530, is_hyphenated=False),), box)
    clause = block(("2.1", 70, 300)), stamp, block(("The fee is due.", 110, 300))
    kinds = said(list(clause), [stamp, block(("More of it.", 100, 200))])
    assert [text for kind, text in kinds if kind is not Kind.RUNNING] == ["The fee is due.", "More of it."]


def test_rows_that_end_with_any_numbers_are_text() -> None:
    kinds = said(page(11, "One"), page(15, "Another"), page(12, "A third"))
    assert Kind.RUNNING not in [kind for kind, _ in kinds]


def test_each_entry_of_a_table_of_contents_is_one() -> None:
    entries = [(f"Part {name} . . . . . . . . . . {n}", 100, 300 + 12 * n) for n, name in enumerate("abc")]
    assert [text for _, text in said([block(*entries)])] == [text for text, _, _ in entries]
