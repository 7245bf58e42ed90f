"""The `quire` command. A subcommand is one line in COMMANDS and one module beside this file.

Module `NAME.py` offers `app` (a Typer with subcommands of its own) or a function NAME (a single command).
Only the module of the command that was asked for is imported, so `quire --help` stays quick.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from quire import __version__
from quire.entrypoints.cli.exit_code import exit_code_of
from quire.kernel import QuireError

COMMANDS = {
    "up": "Start everything on this machine and keep it running.",
    "demo": "Do one job of each kind for real and show the results.",
    "doctor": "Check every part and say how to fix what is wrong.",
    "api": "Run the HTTP API.",
    "worker": "Run a worker.",
    "gateway": "Run the gateway that turns PDF into XML.",
    "migrate": "Bring the database to the newest schema.",
    "tenant": "Create, list and disable tenants.",
    "token": "Create, list and revoke API tokens.",
    "render": "Print a document from a template.",
    "convert": "Turn a PDF into XML.",
    "verify": "Say whether a PDF is what Quire rendered.",
    "jobs": "Submit, list, show, wait for, cancel and retry jobs.",
    "problems": "List dead letters and decide them.",
    "queues": "List, pause and resume queues.",
    "schedules": "List, pause, resume and run schedules.",
    "workers": "List live workers.",
    "storage": "Look after stored objects.",
    "reseal": "Encrypt webhook secrets under the present key.",
}

EPILOG = (
    "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 a part is unavailable (try again), "
    "4 a job that was waited for ended without success, 5 it had not ended in time, 130 interrupted. "
    "Errors are one line on stderr: error: CODE: detail"
)


def main() -> None:
    arguments = sys.argv[1:]
    try:
        build_app(_wanted(arguments))(args=arguments, prog_name="quire")
    except QuireError as error:
        print(f"error: {error.code}: {error.detail}", file=sys.stderr)
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(130)


def build_app(wanted: str | None = None) -> typer.Typer:
    """With `wanted`, the other commands are names and summaries alone; without, everything is loaded."""
    app = typer.Typer(
        help="Document work that must finish exactly once.",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name, summary in COMMANDS.items():
        if wanted in (None, name):
            _add_command(app, name, summary)
        else:
            app.command(name, help=summary)(_not_loaded)
    return app


def _wanted(arguments: Sequence[str]) -> str | None:
    """Shell completion looks into every command, so it gets all of them."""
    if "_QUIRE_COMPLETE" in os.environ:
        return None
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def _add_command(app: typer.Typer, name: str, summary: str) -> None:
    python_name = name.replace("-", "_")
    module = importlib.import_module(f"{__name__}.{python_name}")
    group = getattr(module, "app", None)
    if isinstance(group, typer.Typer):
        app.add_typer(group, name=name, help=summary, no_args_is_help=True)
    else:
        app.command(name, epilog=EPILOG)(getattr(module, python_name))


def _not_loaded() -> None:
    raise AssertionError("a command that was not asked for was called")


def _show_version(asked: bool) -> None:
    if asked:
        print(f"quire {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options of `quire` itself; every subcommand has its own."""
