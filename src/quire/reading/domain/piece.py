"""A block as the order of a page sees it: with the stripe its letters really fill, and its place in the file."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

from quire.reading.domain.page import Block, Box


class Piece(NamedTuple):
    """A block with the stripe its letters really fill: fonts with tall boxes overlap their neighbours. `number` is its
    place in the file, which decides where nothing else does."""

    edges: Box
    number: int
    block: Block


def piece_of(number: int, block: Block) -> Piece:
    first, last = block.lines[0], block.lines[-1]
    top = first.baseline - 0.5 * (first.baseline - first.box.top)
    edges = Box(block.box.left, top, block.box.right, max(last.baseline, top))
    return Piece(edges, number, block)


def separated(pieces: list[Piece], *, low: int, high: int, gap: float) -> list[list[Piece]]:
    """Groups with an empty stripe of at least `gap` between them, along one axis; each in the order of the file."""
    parts: list[list[Piece]] = []
    reach = float("-inf")
    for piece in sorted(pieces, key=lambda piece: piece.edges[low]):
        if piece.edges[low] >= reach + gap or not parts:
            parts.append([])
        parts[-1].append(piece)
        reach = max(reach, piece.edges[high])
    for part in parts:
        part.sort(key=attrgetter("number"))
    return parts
