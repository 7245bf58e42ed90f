"""Rows of a command's answer: a table for people, one JSON document for scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

import typer

from quire.entrypoints.cli.roster import Roster
from quire.entrypoints.cli.sheet import put

AsJson = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]


def show_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, default=str, ensure_ascii=False))


def say_more(shown: int) -> None:
    """Beside the list, so that what is piped on stays rows."""
    typer.echo(f"There are more: --limit shows more than the newest {shown}.", err=True)


def show_rows(
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    *,
    as_json: bool,
    spare: Sequence[str] = (),
    cut: Sequence[str] = (),
) -> None:
    if as_json:
        show_json(rows)
        return
    table = Roster(*columns, spare=spare, cut=cut)
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    put(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value)
