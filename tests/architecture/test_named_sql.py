"""Every SQL statement has a name, a purpose and a user."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FILES = sorted(SOURCE.rglob("*.sql"))
NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


def statements(file: Path) -> list[tuple[str, list[str]]]:
    parts = NAME.split(file.read_text(encoding="utf-8"))[1:]
    return [(name, body.strip().splitlines()) for name, body in zip(parts[::2], parts[1::2], strict=True)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_statement_is_described_and_its_name_is_its_own(file: Path) -> None:
    found = statements(file)
    names = [name for name, _ in found]
    assert len(names) == len(set(names))
    assert [name for name, lines in found if not lines[0].startswith("-- ")] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_statement_that_changes_rows_says_what_it_locks(file: Path) -> None:
    silent = []
    for name, lines in statements(file):
        comment = " ".join(line for line in lines if line.startswith("--"))
        body = " ".join(line for line in lines if not line.startswith("--"))
        if re.search(r"\b(UPDATE|DELETE|FOR (UPDATE|SHARE|KEY SHARE))\b", body) and "Locks:" not in comment:
            silent.append(name)
    assert silent == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_statement_is_left_over(file: Path) -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    assert [name for name, _ in statements(file) if f'["{name}"]' not in code] == []
