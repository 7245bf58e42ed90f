"""The provisions of a law or contract, one in another, out of passages in a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from quire.convert.domain.legal_numbering import DECIMAL_RANK, Beginning, beginning_of

HEADING_LENGTH = 200


class Said(Protocol):
    """A passage of the text, with its own mark in front of it."""

    @property
    def text(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def is_heading(self) -> bool: ...
    @property
    def is_bold(self) -> bool: ...


@dataclass(slots=True)
class Provision:
    kind: str
    rank: int
    number: str = ""
    heading: str = ""
    paragraphs: list[str] = field(default_factory=list)
    children: list[Provision] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """`preface` is what stands before the first provision; its headings are marked."""

    preface: list[tuple[str, bool]] = field(default_factory=list)
    provisions: list[Provision] = field(default_factory=list)


def outline_of(passages: Iterable[Said]) -> Outline:
    outline = Outline()
    path: list[Provision] = []
    for said in passages:
        whole = f"{said.label} {said.text}".strip()
        stands_out = said.is_heading or said.is_bold or _is_capital(said.text)
        begun = beginning_of(whole, stands_out=stands_out)
        if begun is not None:
            _begin(outline, path, _fitted(begun, path), stands_out)
        elif not path:
            outline.preface.append((whole, stands_out))
        elif _completes(path[-1], stands_out, whole):
            path[-1].heading = f"{path[-1].heading} {whole}".strip()
        else:
            path[-1].paragraphs.append(whole)
    return outline


def _begin(outline: Outline, path: list[Provision], begun: Beginning, stands_out: bool) -> None:
    while path and path[-1].rank >= begun.rank:
        path.pop()
    is_title = begun.is_named or stands_out
    heading = begun.text if is_title and len(begun.text) <= HEADING_LENGTH else ""
    provision = Provision(begun.kind, begun.rank, begun.number, heading)
    if begun.text and not heading:
        provision.paragraphs.append(begun.text)
    (path[-1].children if path else outline.provisions).append(provision)
    path.append(provision)


def _fitted(begun: Beginning, path: list[Provision]) -> Beginning:
    """What a mark means depends on what it stands in."""
    if begun.kind == "point":
        return _fitted_point(begun, path)
    if begun.is_named or not DECIMAL_RANK < begun.rank < DECIMAL_RANK + 5:
        return begun
    above = next((one for one in reversed(path) if one.rank < begun.rank), None)
    if above is None:
        return begun
    if above.kind == "section" and begun.rank == DECIMAL_RANK + 1:
        return replace(begun, kind="paragraph")
    if above.kind == "paragraph":
        # A law's `1.1.` was put in after its `1.` later; a contract's belongs to it.
        if above.rank == DECIMAL_RANK and any(one.kind == "article" for one in path):
            return replace(begun, kind="paragraph", rank=DECIMAL_RANK)
        return replace(begun, kind="subparagraph")
    return begun


def _fitted_point(begun: Beginning, path: list[Provision]) -> Beginning:
    """A letter after a digit is inside it, and a digit after a letter: the sort that came first is the outer one."""
    points = [one for one in path if one.kind == "point"]
    alike = next((one for one in points if _is_digit(one.number) == _is_digit(begun.number)), None)
    if alike is not None:
        return replace(begun, rank=alike.rank)
    return replace(begun, rank=points[-1].rank + 1) if points else begun


def _is_digit(number: str) -> bool:
    return number.strip("()").isdigit()


def _completes(last: Provision, stands_out: bool, text: str) -> bool:
    """`ГЛАВА 2` on one line and its name on the next are one heading."""
    return (
        stands_out
        and last.rank < DECIMAL_RANK
        and not last.paragraphs
        and not last.children
        and len(last.heading) + len(text) <= HEADING_LENGTH
    )


def _is_capital(text: str) -> bool:
    return text.isupper() and len(text) > 3
