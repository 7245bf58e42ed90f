"""The walls between contexts and layers, and the names of the rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FORBIDDEN_NAMES = {"utils", "common", "helpers", "base", "misc", "service"}
LAYERS = {"domain", "ports", "application", "infrastructure", "presentation"}
CONTEXTS = ("jobs", "render", "reading", "convert", "payments", "documents", "control")


def test_no_import_climbs_over_a_wall() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_every_context_that_exists_stands_behind_the_linters_walls() -> None:
    """A new context that nobody adds to the contracts would be free to import whatever it likes."""
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    existing = [name for name in CONTEXTS if (ROOT / "src/quire" / name / "__init__.py").exists()]
    assert [name for name in existing if f'"quire.{name}"' not in contracts] == []


def test_contexts_have_the_known_layers_and_no_others() -> None:
    odd = [
        str(folder.relative_to(ROOT))
        for name in CONTEXTS
        for folder in (ROOT / "src/quire" / name).glob("*/")
        if folder.name not in LAYERS and any(folder.rglob("*.py"))
    ]
    assert odd == []


def test_no_module_is_named_after_nothing() -> None:
    names = [path for path in (ROOT / "src").rglob("*.py") if path.stem in FORBIDDEN_NAMES]
    assert names == []


def test_the_domain_and_the_use_cases_never_read_the_wall_clock_of_their_own() -> None:
    """Leases and windows are the database's time; the rest is given."""
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for layer in ("domain", "ports")
        for path in (ROOT / "src/quire").glob(f"*/{layer}/**/*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "time", "monotonic")
        and isinstance(node.value, ast.Name) and node.value.id in ("datetime", "time")
    ]  # fmt: skip
    assert offenders == []


def test_no_test_sleeps_to_wait_for_something() -> None:
    """A fixed sleep in a test's own body is a guess about speed; where nothing can be waited for, its line says so.
    Handlers and pollers, being functions inside or beside, may sleep: that is their work."""
    offenders = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for test in ast.walk(ast.parse(text)):
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test_"):
                guesses = [call for call in _own_calls(test) if _is_fixed_sleep(call)]
                offenders += [f"{path.name}:{g.lineno}" for g in guesses if "#" not in lines[g.lineno - 1]]
    assert offenders == []


def test_names_of_tests_are_sentences() -> None:
    short = [
        f"{path.name}:{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and node.name.count("_") < 3
    ]
    assert short == []


def _own_calls(test: ast.AST) -> list[ast.Call]:
    found: list[ast.Call] = []
    for child in ast.iter_child_nodes(test):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.While):
            continue
        if isinstance(child, ast.Call):
            found.append(child)
        found += _own_calls(child)
    return found


def _is_fixed_sleep(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "sleep"
    return named and bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value != 0


def test_a_worker_starts_without_the_web_framework() -> None:
    """It costs every start of a worker a third of a second and ten megabytes."""
    program = "import sys, quire.entrypoints.worker; sys.exit('fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", program], check=False).returncode == 0
