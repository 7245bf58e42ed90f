"""The `quire` command itself: quick help, documented exit codes, one line for every refusal."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
import typer
from typer.main import get_command

from quire import __version__
from quire.entrypoints.cli import COMMANDS, build_app


def run_quire(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "quire", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, cwd="/", env=environment
    )


def test_help_names_commands_and_exit_codes_without_importing_them() -> None:
    done = run_quire("--help")
    assert done.returncode == 0
    assert "doctor" in done.stdout
    assert "Exit codes" in done.stdout
    assert "asyncpg" not in done.stderr
    assert "pydantic" not in done.stderr


def test_version_is_the_packages_own() -> None:
    assert run_quire("--version").stdout.strip() == f"quire {__version__}"


def test_wrong_usage_is_exit_code_two() -> None:
    assert run_quire("nonsense").returncode == 2
    assert run_quire("up", "--port", "many").returncode == 2


def test_a_refusal_is_one_line_with_its_code() -> None:
    done = run_quire("migrate")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert done.returncode == 1
    assert len(lines) == 1
    assert lines[0].startswith("error: SETTINGS_INVALID: ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_has_its_module(name: str) -> None:
    module = importlib.import_module(f"quire.entrypoints.cli.{name}")
    assert isinstance(getattr(module, "app", None), typer.Typer) or callable(getattr(module, name))


def test_all_commands_load_together_for_shell_completion() -> None:
    assert set(get_command(build_app()).commands) == set(COMMANDS)  # type: ignore[attr-defined]
