"""JSON that a command is given: on the line, in a file (`@name`) or on standard input (`-`)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from quire.entrypoints.cli.whole_file import LocalFileError, in_words
from quire.kernel import DuplicateKeyError, InvalidInputError, unique_keys


def read_object(text: str) -> dict[str, Any]:
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = _file_text(Path(text[1:]))
    return _object(text, "payload")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """One object a line; empty lines are skipped."""
    text = sys.stdin.read() if str(path) == "-" else _file_text(path)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [_object(line, f"line {number}") for number, line in lines]


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LocalFileError(f"{path}: {in_words(error)}") from None
    except UnicodeDecodeError:
        raise LocalFileError(f"{path}: not a text in UTF-8") from None


def _object(text: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=unique_keys)
    except DuplicateKeyError as error:
        raise DuplicateKeyError(f"{place}: {error.detail}") from None
    except ValueError as error:
        raise InvalidInputError(f"{place}: {error}", code="JSON_INVALID") from None
    if not isinstance(value, dict):
        raise InvalidInputError(f"{place}: a JSON object is needed", code="JSON_INVALID")
    return value
