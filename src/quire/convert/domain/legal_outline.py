"""The provisions of a law or contract, one in another, out of passages in a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from quire.convert.domain.legal_numbering import (
    DECIMAL_RANK,
    RECITALS,
    Beginning,
    beginning_of,
    container_of,
)

HEADING_LENGTH = 200


class Said(Protocol):
    """A passage of the text, with its own mark in front of it. `level` counts headings from 1 and is 0 for others."""

    @property
    def text(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def level(self) -> int: ...
    @property
    def is_bold(self) -> bool: ...
    @property
    def is_entry(self) -> bool: ...


@dataclass(slots=True)
class Provision:
    """A `hcontainer` has a heading and no number. `level` is that of the heading it began with, 0 if it had none."""

    kind: str
    rank: int
    number: str = ""
    heading: str = ""
    level: int = 0
    paragraphs: list[str] = field(default_factory=list)
    children: list[Provision] = field(default_factory=list)


@dataclass(slots=True)
class Recitals:
    """Why the parties agree, before what they agree on; each with its number, if it has one."""

    heading: str
    each: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Outline:
    """`preface` is what stands before the first provision; its headings are marked. `contents` are the entries of a
    table of contents, wherever it stands."""

    preface: list[tuple[str, bool]] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    recitals: Recitals | None = None
    provisions: list[Provision] = field(default_factory=list)


def outline_of(passages: Iterable[Said]) -> Outline:
    draft = _Draft()
    for said in passages:
        draft.add(said)
    return draft.outline


class _Draft:
    """`path` leads to the provision that text goes into, `closed` to where it went before a heading without number."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._path: list[Provision] = []
        self._closed: list[Provision] = []

    def add(self, said: Said) -> None:
        whole = f"{said.label} {said.text}".strip()
        if said.is_entry:
            self.outline.contents.append(whole)
        else:
            self._add_text(said, whole)

    def _add_text(self, said: Said, whole: str) -> None:
        stands_out = bool(said.level) or said.is_bold or _is_capital(said.text)
        begun = beginning_of(whole, stands_out=stands_out)
        recitals = self.outline.recitals
        if not self._path and recitals and not stands_out and not (begun and begun.is_named):
            recitals.each.append((said.label, said.text))
        elif begun is not None:
            self._begin(begun, said.level, stands_out)
        elif not self._path:
            self._add_before_all(whole, stands_out)
        elif _completes(self._path[-1], stands_out, whole):
            self._path[-1].heading = f"{self._path[-1].heading} {whole}".strip()
        elif _is_heading(said, whole, self._path):
            self._begin_unnumbered(whole, said.level)
        else:
            self._path[-1].paragraphs.append(whole)

    def _add_before_all(self, whole: str, stands_out: bool) -> None:
        if stands_out and self.outline.recitals is None and RECITALS.fullmatch(whole):
            self.outline.recitals = Recitals(whole)
        else:
            self.outline.preface.append((whole, stands_out))

    def _begin(self, begun: Beginning, level: int, stands_out: bool) -> None:
        self._leave_unnumbered(begun, level)
        begun = _fitted(begun, self._path)
        while self._path and self._path[-1].rank >= begun.rank:
            self._path.pop()
        is_title = begun.is_named or stands_out
        heading = begun.text if is_title and len(begun.text) <= HEADING_LENGTH else ""
        provision = Provision(begun.kind, begun.rank, begun.number, heading, level)
        if begun.text and not heading:
            provision.paragraphs.append(begun.text)
        self._append(provision)

    def _begin_unnumbered(self, heading: str, level: int) -> None:
        """It ends what began with headings as small as itself, or with none. Rank 0: whatever comes is inside."""
        self._closed = list(self._path)
        while self._path and not 0 < self._path[-1].level < level:
            self._path.pop()
        self._append(Provision("hcontainer", 0, heading=heading, level=level))

    def _leave_unnumbered(self, begun: Beginning, level: int) -> None:
        """A numbered heading as large ends it; so does the next number of the clause that it stands in."""
        if level:
            ends = [
                place for place, one in enumerate(self._path) if _is_unnumbered(one) and one.level >= level
            ]
            del self._path[ends[0] if ends else len(self._path) :]
        elif self._path and _is_bare(self._path[-1]):
            above = begun.number.strip(".").rpartition(".")[0]
            if above and any(one.number.strip(".") == above for one in self._closed):
                between = self._siblings(len(self._path) - 1).pop()
                self._path = self._closed
                while self._path[-1].number.strip(".") != above:
                    self._path.pop()
                self._path[-1].children.append(replace(between, kind="crossHeading"))

    def _append(self, provision: Provision) -> None:
        self._siblings(len(self._path)).append(provision)
        self._path.append(provision)

    def _siblings(self, depth: int) -> list[Provision]:
        return self._path[depth - 1].children if depth else self.outline.provisions


def _is_heading(said: Said, text: str, path: list[Provision]) -> bool:
    """Of a part of its own; the names of those who sign are none."""
    if not said.level or len(text) > HEADING_LENGTH:
        return False
    return not any(container_of(one.heading) == "signatures" and one.level < said.level for one in path)


def _is_unnumbered(provision: Provision) -> bool:
    return provision.kind == "hcontainer"


def _is_bare(provision: Provision) -> bool:
    return _is_unnumbered(provision) and not provision.paragraphs and not provision.children


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
        and 0 < last.rank < DECIMAL_RANK
        and not last.paragraphs
        and not last.children
        and len(last.heading) + len(text) <= HEADING_LENGTH
    )


def _is_capital(text: str) -> bool:
    return text.isupper() and len(text) > 3
