"""Mappings that write what their schema refuses: each is one that ships, but for a defect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from quire.convert.infrastructure.mappings import MAPPINGS, alto
from quire.convert.infrastructure.mappings.mapping import Mapping, Source
from quire.reading import Page, TextStyle

Run = tuple[tuple[Page, ...], tuple[TextStyle, ...]]


class ChangedPages:
    """A source to who reads it page by page."""

    def __init__(self, source: Source, change: Callable[[Run], Run]) -> None:
        self._source, self._change = source, change

    def runs(self, length: int) -> Iterator[Run]:
        return map(self._change, self._source.runs(length))


def with_names_twice(run: Run) -> Run:
    pages, styles = run
    return pages * 2, styles


def with_sizes_of_no_number(run: Run) -> Run:
    pages, styles = run
    return pages, tuple(style._replace(size=float("nan")) for style in styles)


def alto_of(change: Callable[[Run], Run]) -> Callable[[Source], bytes]:
    return lambda source: alto.write(ChangedPages(source, change))


def with_unknown_element(write: Callable[[Source], bytes]) -> Callable[[Source], bytes]:
    return lambda source: write(source).replace(b"</", b"<leaf/></", 1)


def another(mapping: str, name: str, write: Callable[[Source], bytes]) -> Mapping:
    known = MAPPINGS[mapping]
    return replace(known, about=replace(known.about, name=name), write=write, join=None)


WRONG = {
    mapping.about.name: mapping
    for mapping in (
        another("alto", "alto-names-twice", alto_of(with_names_twice)),
        another("alto", "alto-sizes-of-no-number", alto_of(with_sizes_of_no_number)),
        *(
            another(name, f"{name}-unknown-element", with_unknown_element(MAPPINGS[name].write))
            for name in ("tei", "akn", "ubl-invoice")
        ),
    )
}
