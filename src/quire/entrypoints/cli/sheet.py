"""The one look of tables on the terminal: a quiet head, no lines, as many columns as fit."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.table import Table


def sheet(*columns: str, fixed: Iterable[str] = (), right: Iterable[str] = ()) -> Table:
    """`fixed` columns are never folded; `right` ones hold numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold dim")
    whole, numbers = set(fixed), set(right)
    for name in columns:
        table.add_column(
            name,
            no_wrap=name in whole or name in numbers,
            justify="right" if name in numbers else "left",
            overflow="fold",
        )
    return table


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(label, printable(value))
    return table


def printable(text: str) -> str:
    """Foreign text cannot move the cursor or colour the screen."""
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in text)


def plain_console(*, quiet: bool = False) -> Console:
    """Square brackets and colons in a payload are text, not markup."""
    return Console(highlight=False, markup=False, emoji=False, quiet=quiet)


def put(*parts: RenderableType) -> None:
    console = plain_console()
    for part in parts:
        console.print(part)
