"""How laws and contracts number their parts, in three languages, and what only looks like a number."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from quire.convert.domain.legal_numbering import beginning_of
from quire.convert.domain.legal_outline import Provision, outline_of


@dataclass(frozen=True)
class Said:
    text: str
    label: str = ""
    level: int = 0
    is_bold: bool = False
    is_entry: bool = False


@pytest.mark.parametrize(
    ("text", "kind", "number", "rest"),
    [
        ("ЧАСТЬ ПЕРВАЯ", "part", "ЧАСТЬ ПЕРВАЯ", ""),
        ("Раздел II. Право собственности", "title", "Раздел II.", "Право собственности"),
        ("Глава 4. Юридические лица", "chapter", "Глава 4.", "Юридические лица"),
        ("§ 2. Коммерческие организации", "subchapter", "§ 2.", "Коммерческие организации"),
        ("Статья 51.1. Понятие", "article", "Статья 51.1.", "Понятие"),
        ("PART IV – MISCELLANEOUS", "part", "PART IV", "MISCELLANEOUS"),
        ("Article 7. Fees", "article", "Article 7.", "Fees"),
        ("Section 12. Notices", "section", "Section 12.", "Notices"),
        ("MADDE 3 – Tanımlar", "article", "MADDE 3", "Tanımlar"),
        ("2.1. Поставщик обязуется", "subparagraph", "2.1.", "Поставщик обязуется"),
        ("1) сведения", "point", "1)", "сведения"),
        ("б) заявление", "point", "б)", "заявление"),
        ("(iv) the policies", "indent", "(iv)", "the policies"),
    ],
)
def test_a_number_says_what_begins(text: str, kind: str, number: str, rest: str) -> None:
    begun = beginning_of(text, stands_out=True)
    assert begun is not None
    assert (begun.kind, begun.number, begun.text) == (kind, number, rest)


@pytest.mark.parametrize(
    "text",
    [
        "Статья 5 настоящего закона применяется к указанным отношениям.",
        "Section 5 survives termination of this Agreement.",
        "Part of the goods were lost.",
        "12 apples were sold.",
        "2.5 процента от суммы договора.",
    ],
)
def test_a_sentence_that_mentions_a_number_begins_nothing(text: str) -> None:
    assert beginning_of(text, stands_out=False) is None


def test_letters_stand_inside_digits_and_digits_inside_letters() -> None:
    russian = outline_of(
        [Said("Понятия", "Статья 2."), *map(_marked, ("1) а", "2) б", "а) в", "б) г", "3) д"))]
    )
    assert _shape(russian.provisions) == [
        ("Статья 2.", [("1)", []), ("2)", [("а)", []), ("б)", [])]), ("3)", [])])
    ]
    english = outline_of(map(_marked, ("(a) x", "(1) y", "(2) z", "(b) w")))
    assert _shape(english.provisions) == [("(a)", [("(1)", []), ("(2)", [])]), ("(b)", [])]


def test_a_chapters_name_may_stand_under_its_number() -> None:
    outline = outline_of([Said("ГЛАВА II", level=1), Said("ПОРЯДОК ОТЧЁТНОСТИ", level=1)])
    assert [(one.number, one.heading) for one in outline.provisions] == [("ГЛАВА II", "ПОРЯДОК ОТЧЁТНОСТИ")]


def test_an_inserted_paragraph_of_a_law_stands_beside_the_one_it_follows() -> None:
    law = outline_of([Said("Сроки", "Статья 3."), Said("Первый.", "1."), Said("Вставленный.", "1.1.")])
    assert _shape(law.provisions) == [("Статья 3.", [("1.", []), ("1.1.", [])])]
    contract = outline_of([Said("FEES", "1.", is_bold=True), Said("The Client pays.", "1.1")])
    assert _shape(contract.provisions) == [("1.", [("1.1", [])])]


def test_what_comes_before_the_first_number_is_the_preface() -> None:
    outline = outline_of(
        [Said("AGREEMENT", level=1), Said("between A and B"), Said("TERM", "1.", is_bold=True)]
    )
    assert outline.preface == [("AGREEMENT", True), ("between A and B", False)]


def test_entries_of_a_table_of_contents_are_no_clauses() -> None:
    outline = outline_of(
        [
            Said("1. Purpose ..... 1", is_entry=True),
            Said("Purpose", "1.", level=1),
            Said("1.1 Scope ... 2", is_entry=True),
        ]
    )
    assert outline.contents == ["1. Purpose ..... 1", "1.1 Scope ... 2"]
    assert _shape(outline.provisions) == [("1.", [])]


def test_recitals_are_no_clauses_though_they_have_numbers() -> None:
    outline = outline_of(
        [Said("ДОГОВОР", level=1), Said("Преамбула", level=2), Said("Заказчик имеет посты.", "1."),
         Said("Предмет", "1.", level=2), Said("Исполнитель оказывает услуги.", "1.1")]
    )  # fmt: skip
    assert outline.recitals is not None
    assert outline.recitals.each == [("1.", "Заказчик имеет посты.")]
    assert _shape(outline.provisions) == [("1.", [("1.1", [])])]


def test_a_heading_without_a_number_ends_the_clauses_before_it() -> None:
    outline = outline_of(
        [Said("FINAL", "8.", level=3), Said("The law applies.", "8.1"), Said("Signatures", level=3),
         Said("ACME", level=4), Said("Name:"),
         Said("Schedule 1 Stations", level=2), Said("Times count.", "1."), Said("MORE", "9.", level=3)]
    )  # fmt: skip
    assert [(one.number, one.heading, one.paragraphs) for one in outline.provisions] == [
        ("8.", "FINAL", []), ("", "Signatures", ["ACME", "Name:"]), ("", "Schedule 1 Stations", []),
    ]  # fmt: skip
    assert _shape(outline.provisions)[-1] == ("", [("1.", []), ("9.", [])])


def test_a_heading_between_two_clauses_of_one_section_stands_in_it() -> None:
    outline = outline_of(
        [
            Said("FEES", "1.", level=3),
            Said("The fee is due.", "1.1"),
            Said("Payment", level=3),
            Said("By card.", "1.2"),
        ]
    )
    (fees,) = outline.provisions
    assert [(one.kind, one.number) for one in fees.children] == [
        ("paragraph", "1.1"), ("crossHeading", ""), ("paragraph", "1.2"),
    ]  # fmt: skip


def _marked(text: str) -> Said:
    label, _, rest = text.partition(" ")
    return Said(rest, label)


def _shape(provisions: list[Provision]) -> list[object]:
    return [(one.number, _shape(one.children)) for one in provisions]
