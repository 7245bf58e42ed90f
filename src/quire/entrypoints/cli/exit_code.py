"""Exit codes of every command: 0 done, 1 refused, 2 wrong usage, 3 a part is unavailable (try again)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from quire.kernel import QuireError

REFUSED = 1
UNAVAILABLE = 3


def exit_code_of(error: QuireError) -> int:
    return UNAVAILABLE if error.retryable else REFUSED


@contextmanager
def exit_on_error() -> Iterator[None]:
    """One line on stderr instead of a traceback."""
    try:
        yield
    except QuireError as error:
        typer.echo(f"{error.code}: {error.detail}", err=True)
        raise typer.Exit(exit_code_of(error)) from None
    except OSError as error:
        typer.echo(f"IO_ERROR: {error.strerror or error}", err=True)
        raise typer.Exit(UNAVAILABLE) from None
