"""What a person sees when Quire is up."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from quire.entrypoints.home import Home


def welcome(home: Home, url: str, new_token: str | None) -> None:
    """The token itself is shown once, when it was just made; later only where it is kept."""
    rows = {
        "API": url,
        "Token": new_token or f"kept in {home.admin_token}",
        "Data": str(home.root),
        "Logs": str(home.logs),
        "Stop": "Ctrl-C",
    }
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text("\nQuire is ready.\n", style="bold green"))
    for label, value in rows.items():
        console.print(Text(f"  {label:<7}", style="dim"), Text(value, style="bold"), sep="")
    if new_token:
        console.print(
            Text(f"\n  The token is kept in {home.admin_token}; it is not shown again.", style="dim")
        )
    console.print()
