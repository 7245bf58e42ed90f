"""The one look of pages on the terminal: a quiet head, no lines, long texts folded at words. Lists of many rows are
rosters."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.table import Table

# More than the longest line that is ever shown.
UNBOUND_WIDTH = 100_000


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
    """On a terminal within its width; elsewhere every line is whole, for whoever reads or greps it."""
    console = plain_console()
    if console.is_terminal:
        for part in parts:
            # Where a row must be wider than the screen, the terminal folds it; nothing is lost.
            console.print(part, crop=False)
        return
    console.width = UNBOUND_WIDTH
    with console.capture() as page:
        for part in parts:
            console.print(part)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in page.get().splitlines()))
