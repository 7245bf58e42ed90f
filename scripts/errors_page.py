"""Writes `docs/errors.md` from the error classes and the codes given where they are raised, or checks it.

scripts/errors_page.py            write
scripts/errors_page.py --check    fail when the page is not what the code says
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import quire
from quire.jobs.domain import errors as job_errors
from quire.jobs.domain.problem import recommend
from quire.kernel import QuireError
from quire.runtime.http.exception_handlers import CODES, TITLES
from quire.runtime.http.problem_json import STATUS_BY_FAMILY

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "errors.md"
SOURCE = ROOT / "src" / "quire"

HEAD = """# Errors

Every code that Quire answers with. `scripts/errors_page.py` writes this page from the code; edit the classes, not this
page. A code never changes its meaning.

Over HTTP an error is `application/problem+json` with `type`, `title`, `status`, `error_code`, `detail`, `retryable` and
`trace_id`. On the command line it is one line, `error: CODE: detail`, and exit code 3 when it is retryable, else 1.
Retryable means: the same request may succeed later, and sending it again is safe. The status follows from the family; a
500 never carries a detail. Codes with status "–" belong to commands and job attempts; in an answer they would be 500.
"""

JOB_HEAD = """
## Codes a job ends with

`error_code` of a failed job and of its problem is its handler's own, one from the table above (`STORAGE_FULL`,
say), or one the engine gives. Which of them are tried again is `config/retries.yaml`.

| code | when | advice in its problem |
|---|---|---|
"""

ENGINE_CODES = {
    "WORKER_LOST": "the worker died as often as `max_crashes` allows",
    "DEPENDENCY_FAILED": "a job it waited for failed for good",
    "JOB_TIMEOUT": "not done within the queue's hard limit; a kind may name another code (`timeout_code`)",
    "UNKNOWN_KIND": "the worker has no handler for its kind",
    "PAYLOAD_UNDECODABLE": "the handler's `decode` refused the payload",
    "RESULT_INVALID": "the handler returned something that is not JSON, or more than 64 KiB of it",
    "DEFERRED_TOO_LONG": "its handler put it off for longer than `deferral_limit_seconds` of its kind",
    "HANDLER_CRASHED": "the handler raised something that is not a `QuireError`",
    "OUTCOME_UNSTORABLE": "the database cannot hold what the handler ended with: its error code, a delay out of range",
}


@dataclass(frozen=True)
class Entry:
    code: str
    family: str
    status: int
    retryable: bool
    meaning: str
    of_class: bool = True

    def row(self) -> str:
        status = "–" if self.status == 500 and self.code != QuireError.code else str(self.status)
        retryable = "yes" if self.retryable else "no"
        return f"| `{self.code}` | {self.family} | {status} | {retryable} | {self.meaning} |"


def page() -> str:
    import_everything()
    rows = sorted(entry.row() for entry in merged((*raised(), *classes(), *framework())))
    table = ["\n## All codes\n", "| code | family | status | retryable | meaning |", "|---|---|---|---|---|"]
    return HEAD + "\n".join([*table, *rows]) + "\n" + job_codes()


def merged(entries: Iterable[Entry]) -> Iterable[Entry]:
    """A code raised in several places is one row that tells each; a class of its own tells it best."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        known = found.get((entry.code, entry.family))
        if known and not entry.of_class and entry.meaning not in known.meaning:
            entry = replace(entry, meaning=f"{known.meaning}; {entry.meaning}")
        found[entry.code, entry.family] = entry
    return found.values()


def import_everything() -> None:
    for module in pkgutil.walk_packages(quire.__path__, "quire."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def classes() -> Iterator[Entry]:
    for kind in descendants(QuireError):
        # One that inherits its code is a case of it and does not tell all of its meaning.
        if "code" in kind.__dict__:
            yield entry_of(kind, kind.code, kind.retryable, meaning_of(kind))


def meaning_of(kind: type[QuireError]) -> str:
    if kind is QuireError:
        return "Something unforeseen; the log has it under the answer's `trace_id`."
    text = inspect.cleandoc(kind.__dict__.get("__doc__") or kind.title)
    return text.split("\n\n")[0].replace("\n", " ")


def descendants(kind: type[QuireError]) -> Iterator[type[QuireError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from descendants(child)


def raised() -> Iterator[Entry]:
    """Calls such as `NotFoundError("no such token", code="TOKEN_NOT_FOUND")`."""
    kinds = {kind.__name__: kind for kind in descendants(QuireError)}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                yield from entry_of_call(node, kinds[node.func.id], module_of(path))


def module_of(path: Path) -> ModuleType:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return sys.modules[".".join(parts).removesuffix(".__init__")]


def entry_of_call(call: ast.Call, kind: type[QuireError], module: ModuleType) -> Iterator[Entry]:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    code, retryable = constant(given.get("code"), module), constant(given.get("retryable"), module)
    if isinstance(code, str):
        meaning = (text_of(call.args[0], module) if call.args else "") or kind.title
        again = kind.retryable if retryable is None else bool(retryable)
        yield replace(entry_of(kind, code, again, meaning), of_class=False)


def constant(node: ast.expr | None, module: ModuleType) -> object:
    """Written there, or a name that the module has: its own or an imported one. Of `this or that` the last."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BoolOp):
        return constant(node.values[-1], module)
    return getattr(module, node.id, None) if isinstance(node, ast.Name) else None


def text_of(node: ast.expr, module: ModuleType) -> str:
    """Nothing where all its words come from elsewhere."""
    if isinstance(node, ast.BoolOp):
        return text_of(node.values[-1], module)
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        return text if any(character.isalpha() for character in text) else ""
    text = constant(node, module)
    return text if isinstance(text, str) else ""


def entry_of(kind: type[QuireError], code: str, retryable: bool, meaning: str) -> Entry:
    family, status = next((family, status) for family, status in STATUS_BY_FAMILY if issubclass(kind, family))
    # What only commands raise never meets the status table.
    if kind.__module__.startswith("quire.entrypoints"):
        status = 500
    return Entry(code, family.__name__, status, retryable, meaning.replace("|", "\\|").strip())


def framework() -> Iterator[Entry]:
    """What the web framework refuses before any of our code is asked."""
    for status, code in CODES.items():
        yield Entry(code, "HTTP", status, False, TITLES[status])
    yield Entry("ID_INVALID", "HTTP", 404, False, "The id in the path is not a UUID")
    yield Entry("VALIDATION_FAILED", "HTTP", 422, False, "Fields do not fit the schema; `errors` names each")


def job_codes() -> str:
    known = {value for name, value in vars(job_errors).items() if name.isupper() and isinstance(value, str)}
    if known != ENGINE_CODES.keys():
        raise SystemExit(f"ENGINE_CODES is not what jobs/domain/errors.py has: {known ^ ENGINE_CODES.keys()}")
    return JOB_HEAD + "".join(job_rows(ENGINE_CODES.items()))


def job_rows(codes: Iterable[tuple[str, str]]) -> Iterator[str]:
    for code, when in codes:
        yield f"| `{code}` | {when} | {recommend(code, transient=False)} |\n"


def main() -> int:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/errors.md is not what the code says: run scripts/errors_page.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
