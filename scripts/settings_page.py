"""Writes `docs/guides/settings.md` from `runtime/settings.py`, or checks it.

scripts/settings_page.py            write
scripts/settings_page.py --check    fail when the page is not what the code says
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from quire.runtime.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guides" / "settings.md"

HEAD = """# Settings

Every environment name that Quire reads. `scripts/settings_page.py` writes this page from
`src/quire/runtime/settings.py`; edit that file, not this one.

A file `.env` in the working directory is read too; the environment wins over it. A value that cannot be used stops the
process with `SETTINGS_INVALID` before anything is opened. Queues, retries and rates are policy, not settings: see
[jobs](jobs.md#policy).
"""

WORDS: dict[object, str] = {
    SecretStr: "secret",
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
}


def page() -> str:
    parts = [HEAD]
    for section, names in sections().items():
        rows = [row(Settings.model_fields[name]) for name in names]
        parts += [f"## {section}\n", "| name | type | default | meaning |", "|---|---|---|---|", *rows, ""]
    return "\n".join(parts).rstrip() + "\n"


def sections() -> dict[str, list[str]]:
    """The comments between the fields are the page's headings."""
    found: dict[str, list[str]] = {}
    for line in inspect.getsource(Settings).splitlines():
        if heading := re.fullmatch(r"    # (.+)", line):
            found[heading[1]] = []
        elif (field := re.match(r"    (\w+): ", line)) and field[1] in Settings.model_fields:
            list(found.values())[-1].append(field[1])
    return found


def row(field: FieldInfo) -> str:
    cells = (f"`{field.alias}`", type_of(field), default_of(field), field.description or "")
    return f"| {' | '.join(cells)} |"


def type_of(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(field.annotation))
    return WORDS.get(field.annotation, "path") + limits_of(field)


def limits_of(field: FieldInfo) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    limits = [
        f"{sign} {getattr(rule, name)}"
        for rule in field.metadata
        for name, sign in signs.items()
        if hasattr(rule, name)
    ]
    return f", {' and '.join(limits)}" if limits else ""


def default_of(field: FieldInfo) -> str:
    value = field.default
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value in ("", None):
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def main() -> int:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/guides/settings.md is not what the code says: run scripts/settings_page.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
