"""Reads a YAML file against a model, with errors that name file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from quire.kernel import QuireError

Model = TypeVar("Model", bound=BaseModel)
FILE_MAX_BYTES = 1_000_000


class PolicyFileError(QuireError):
    """A policy file cannot be used; nothing starts with half a policy."""

    code = "CONFIG_INVALID"
    title = "A policy file is not valid"


@dataclass(frozen=True)
class LocatedFile(Generic[Model]):
    """A valid file, for checks that look beyond it."""

    path: Path
    content: Model
    root: yaml.Node | None

    def refusal(self, loc: Sequence[int | str], message: str) -> PolicyFileError:
        return PolicyFileError(_describe(self.path, self.root, loc, message))


def read_located(path: Path, model: type[Model]) -> Model:
    return open_located(path, model).content


def open_located(path: Path, model: type[Model]) -> LocatedFile[Model]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise PolicyFileError(f"{path.name}: cannot be read ({type(error).__name__})") from None
    if len(text) > FILE_MAX_BYTES:
        raise PolicyFileError(f"{path.name}: larger than {FILE_MAX_BYTES} bytes")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyFileError(f"{path.name}{_mark(error)}: not valid YAML") from None
    except (ValueError, RecursionError) as error:
        # A date that is none, or nesting without end: YAML by its grammar, nothing by its meaning.
        raise PolicyFileError(f"{path.name}: not valid YAML ({type(error).__name__})") from None
    if root is not None:
        _refuse_repeated_keys(path, root)
    try:
        return LocatedFile(path, model.model_validate(data), root)
    except ValidationError as error:
        lines = [_describe(path, root, item["loc"], item["msg"]) for item in error.errors(include_url=False)]
        raise PolicyFileError("; ".join(lines[:10])) from None


def _mark(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f":{mark.line + 1}" if mark is not None else ""


def _describe(path: Path, root: yaml.Node | None, loc: Sequence[int | str], message: str) -> str:
    return f"{path.name}:{_line_of(root, loc)}: {'.'.join(map(str, loc))}: {message}"


def _line_of(node: yaml.Node | None, loc: Sequence[int | str]) -> int:
    """The deepest line that the path reaches; a missing key is reported at its parent."""
    line = node.start_mark.line + 1 if node is not None else 1
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == str(part)]
            if not found:
                return line
            key, node = found[0]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _refuse_repeated_keys(path: Path, node: yaml.Node) -> None:
    """YAML keeps the last of two equal keys in silence; in a policy the first was meant too."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise PolicyFileError(f"{path.name}:{key.start_mark.line + 1}: {key.value}: given twice")
            seen.add(key.value)
            _refuse_repeated_keys(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated_keys(path, item)
