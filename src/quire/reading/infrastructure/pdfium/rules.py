"""The horizontal lines and edges that a page draws, pieced together where they touch. Looked for only where somebody
asks: most pages have none, and a drawing has too many."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import groupby

import pypdfium2_raw as raw

from quire.reading.domain.side_table import Rule
from quire.reading.infrastructure.pdfium import library
from quire.reading.infrastructure.pdfium.view import OFF_PAGE, View

OBJECTS_MAX = 5_000
RULES_MAX = 300
# In points.
LENGTH_MIN = 15.0
THIN = 3.0
TOUCHING = 2.0


def rules_of(page: int, view: View) -> list[Rule]:
    count = library.page_objects(page)
    if not view.is_upright or count > OBJECTS_MAX:
        return []
    found = {edge for number in range(count) for edge in _edges(library.page_object(page, number), view)}
    rules = [rule for _, level in groupby(sorted(found, key=_by_height), key=_top) for rule in _pieced(level)]
    return rules if len(rules) <= RULES_MAX else []


def _by_height(rule: Rule) -> tuple[float, float]:
    return rule.top, rule.left


def _top(rule: Rule) -> float:
    return rule.top


def _edges(drawn: int, view: View) -> Iterator[Rule]:
    if library.object_type(drawn) != raw.FPDF_PAGEOBJ_PATH:
        return
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    library.object_bounds(drawn, *map(ctypes.addressof, (left, bottom, right, top)))
    begin, end = left.value - view.left, right.value - view.left
    upper, lower = view.top - top.value, view.top - bottom.value
    if end - begin > LENGTH_MIN and begin > OFF_PAGE and end < view.far_right:
        if OFF_PAGE < upper < view.far_bottom:
            yield Rule(round(begin), round(end), round(upper))
        if lower - upper > THIN and lower < view.far_bottom:
            yield Rule(round(begin), round(end), round(lower))


def _pieced(level: Iterator[Rule]) -> Iterator[Rule]:
    """Cells draw a table's line in pieces."""
    whole = next(level)
    for rule in level:
        if rule.left > whole.right + TOUCHING:
            yield whole
            whole = rule
        elif rule.right > whole.right:
            whole = whole._replace(right=rule.right)
    yield whole
