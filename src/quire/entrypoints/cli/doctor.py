"""`quire doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.doctor import Finding, examine
from quire.runtime.settings import load_settings

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    as_json: AsJson = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Data directory of the `quire up` to look at.")
    ] = None,
) -> None:
    """Check every part and say how to fix what is wrong. Exits with 1 when anything fails; warnings pass."""
    given = {} if data_dir is None else {"QUIRE_DATA_DIR": data_dir}
    findings = asyncio.run(examine(load_settings(**given)))
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        _show(findings)
    if any(finding.status == "fail" for finding in findings):
        raise typer.Exit(1)


def _show(findings: Sequence[Finding]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for finding in findings:
        status = Text(f"{finding.status:<5}", style=STYLES[finding.status])
        console.print(status, Text(f"{finding.part:<11} {finding.detail}"), sep="")
        if finding.fix:
            console.print(Text(f"     → {finding.fix}", style="dim"))
