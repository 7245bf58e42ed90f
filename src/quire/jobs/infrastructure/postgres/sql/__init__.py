"""Loads the named statements: `-- name: x`, then comment lines (purpose, locks), then the SQL up to the next name."""

from __future__ import annotations

import re
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


def load(file_name: str) -> dict[str, str]:
    text = resources.files(__name__).joinpath(file_name).read_text(encoding="utf-8")
    parts = _NAME.split(text)[1:]
    return {name: _strip(body) for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _strip(body: str) -> str:
    """Comments stay in the file; the server need not parse them on every prepare."""
    kept = [line for line in body.splitlines() if line.strip() and not line.strip().startswith("--")]
    return "\n".join(kept).rstrip().rstrip(";")
