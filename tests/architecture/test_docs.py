"""The documentation tells what is there: pages written from code are in step, links lead somewhere, named tests
exist, and the commands it shows are real."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from quire.entrypoints.cli import build_app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "quire"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NAMED_TEST = re.compile(r"`?(tests/[\w/]+\.py)(?:::(\w+))?`?")
SHELL = re.compile(r"^```bash[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Words that have another one in the glossary. A page that quotes them as code is free to.
SYNONYMS = re.compile(
    r"\b(dead-letter queue|DLQ|visibility timeout|fencing token|lock token|work item)\b", re.IGNORECASE
)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("script", ["settings_page.py", "errors_page.py"])
def test_page_written_from_code_is_in_step(script: str) -> None:
    checked = subprocess.run(
        [sys.executable, f"scripts/{script}", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_lead_somewhere(page: Path) -> None:
    targets = [link for link in LINK.findall(without_code(page)) if "://" not in link]
    assert [link for link in targets if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)


@cache
def anchors(page: Path) -> frozenset[str]:
    """As GitHub makes them: lower case, punctuation dropped, spaces to hyphens."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_named_tests_exist(page: Path) -> None:
    missing = [
        f"{file}::{name}"
        for file, name in NAMED_TEST.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / file).is_file() or (name and name not in functions_of(ROOT / file))
    ]
    assert missing == []


@cache
def functions_of(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


def requirements() -> list[str]:
    text = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if re.match(r"\| [J0-9]\S* \|", line)]


def test_requirements_live_where_they_say() -> None:
    places = [place for row in requirements() for place in re.findall(r"`([\w/]+/[\w/.]*)`", row)]
    assert places
    assert [place for place in places if not any((root / place).exists() for root in (SOURCE, ROOT))] == []


def test_every_row_of_the_requirements_names_a_test_or_says_that_it_has_none() -> None:
    rows = requirements()
    assert rows
    assert [row for row in rows if not re.search(r"tests/\S+::test_|no test yet|planned", row)] == []


def commands(page: Path) -> Iterator[list[str]]:
    """Each `quire …` and `make …` of the shell blocks, as words up to the first option or argument in quotes."""
    for block in SHELL.findall(page.read_text(encoding="utf-8")):
        for program, rest in re.findall(r"(?:^|[\s(=])(quire|make) ((?:[a-z][a-z-]* ?)+)", block):
            yield [program, *rest.split()]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_shown_commands_exist(page: Path) -> None:
    assert [" ".join(words) for words in commands(page) if not is_real(words)] == []


def is_real(words: list[str]) -> bool:
    program, name, *more = words
    if program == "make":
        return name in make_targets()
    tree = command_tree()
    return name in tree and (not tree[name] or bool(more and more[0] in tree[name]))


@cache
def make_targets() -> frozenset[str]:
    return frozenset(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )


@cache
def command_tree() -> dict[str, frozenset[str]]:
    root = get_command(build_app())
    return {
        name: frozenset(getattr(command, "commands", {}))
        for name, command in getattr(root, "commands", {}).items()
    }


def test_the_makefile_stays_small() -> None:
    assert len(make_targets()) <= 15


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_one_word_a_thing(page: Path) -> None:
    prose = re.sub(r"`[^`]*`", "", without_code(page))
    assert SYNONYMS.findall(prose) == []
