"""Lists on a terminal and in a pipe: one line a row, ids whole."""

from __future__ import annotations

import io
from uuid import uuid4

import pytest
from rich.console import Console

from quire.entrypoints.cli.roster import Roster

IDS = [str(uuid4()) for _ in range(3)]
LONG = "a text that is longer than any column"


def lines_of(
    width: int, *, is_terminal: bool = True, note: str = LONG, least: dict[str, int] | None = None
) -> list[str]:
    roster = Roster(
        "id", "kind", "age", "note", right=("age",), spare=("age",), cut=("kind", "note"), least=least
    )
    for job_id in IDS:
        roster.add_row(job_id, "documents.ocr_page", "8.3 min", note)
    page = io.StringIO()
    Console(file=page, force_terminal=is_terminal, color_system=None, width=width).print(roster)
    return page.getvalue().splitlines()


@pytest.mark.parametrize("width", [70, 80, 100, 160])
def test_each_row_is_one_line_within_the_width_and_its_id_is_whole(width: int) -> None:
    head, *rows = lines_of(width)
    assert [row.split()[0] for row in rows] == IDS
    assert max(len(line) for line in (head, *rows)) <= width
    assert ("age" in head) == (width > 70)
    assert (LONG in rows[0]) == (width > 100)


def test_what_is_too_long_says_so() -> None:
    assert lines_of(80)[1].rstrip().endswith("…")


def test_a_text_that_needs_more_room_gets_it_before_other_columns_do() -> None:
    head, row, *_ = lines_of(80, least={"note": 26})
    assert "age" not in head
    assert LONG[:25] in row
    assert len(row) <= 80


def test_on_a_terminal_a_column_without_a_word_is_left_out() -> None:
    assert "note" not in lines_of(160, note="")[0]


def test_a_pipe_gets_every_column_whole() -> None:
    head, *rows = lines_of(20_000, is_terminal=False, note="")
    assert head.split() == ["id", "kind", "age", "note"]
    assert "documents.ocr_page" in rows[0]


def test_foreign_text_cannot_begin_a_line_or_move_the_cursor() -> None:
    assert len(lines_of(200, note="one\ntwo\x1b[2J")) == 1 + len(IDS)
    assert "\x1b" not in "".join(lines_of(200, note="one\ntwo\x1b[2J"))
