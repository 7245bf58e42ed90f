"""A list on the terminal: one line a row. Where it is narrow, columns are left out and texts are cut; where nobody
looks (a pipe, a file) every line is whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

from quire.entrypoints.cli.sheet import printable

GAP = 2
# A text that is cut shorter than this says nothing any more: another column goes first.
CUT_MIN = 12


class Roster:
    """`spare` columns are left out first to last until the rest fits; `cut` ones may then lose their end.
    What is in neither is always whole, so that an id can be pasted. `least`: texts that say nothing in CUT_MIN."""

    def __init__(
        self,
        *columns: str,
        right: Sequence[str] = (),
        spare: Sequence[str] = (),
        cut: Sequence[str] = (),
        least: Mapping[str, int] | None = None,
    ) -> None:
        self._columns = columns
        self._right = frozenset(right)
        self._spare = spare
        self._least = dict.fromkeys(cut, CUT_MIN) | dict(least or {})
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        self._rows.append([_one_line(cell) for cell in cells])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._whole_widths()
        if console.is_terminal:
            widths = self._fitted(widths, options.max_width)
        # Wider than the screen if it must be: an id folded into two lines of a column cannot be pasted.
        yield from console.render(
            self._table(widths), options.update(width=max(options.max_width, _total(widths)))
        )

    def _whole_widths(self) -> dict[str, int]:
        return {
            name: max([cell_len(name), *(row[place].cell_len for row in self._rows)])
            for place, name in enumerate(self._columns)
        }

    def _fitted(self, widths: dict[str, int], room: int) -> dict[str, int]:
        empty = [
            name for place, name in enumerate(self._columns) if not any(row[place] for row in self._rows)
        ]
        kept = {name: width for name, width in widths.items() if name not in empty}
        for name in self._spare:
            if _total(self._cut_widths(kept)) > room:
                kept.pop(name, None)
        return self._shortened(kept, room)

    def _cut_widths(self, widths: dict[str, int]) -> dict[str, int]:
        return {name: min(width, self._least.get(name, width)) for name, width in widths.items()}

    def _shortened(self, widths: dict[str, int], room: int) -> dict[str, int]:
        """The text with the most to lose gives way first."""
        while _total(widths) > room:
            spare = {name: widths[name] - least for name, least in self._least.items() if name in widths}
            longest = max(spare, key=lambda name: spare[name], default=None)
            if longest is None or spare[longest] <= 0:
                break
            widths = {**widths, longest: widths[longest] - 1}
        return widths

    def _table(self, widths: dict[str, int]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold dim")
        for name, width in widths.items():
            justify: JustifyMethod = "right" if name in self._right else "left"
            table.add_column(name, width=width, justify=justify, no_wrap=True, overflow="ellipsis")
        places = [place for place, name in enumerate(self._columns) if name in widths]
        for row in self._rows:
            table.add_row(*(row[place] for place in places))
        return table


def _total(widths: dict[str, int]) -> int:
    return sum(widths.values()) + GAP * max(0, len(widths) - 1)


def _one_line(cell: str | Text) -> Text:
    """Foreign text cannot begin a line of its own."""
    return cell if isinstance(cell, Text) else Text(printable(cell.replace("\n", " ")))
