"""From the file's coordinates, which grow upwards and know no rotation, to the page as a reader sees it."""

from __future__ import annotations

from dataclasses import dataclass

# Nothing further off the page than this is part of it; absurd coordinates come from damage or malice.
MARGIN = 2_000.0


@dataclass(frozen=True, slots=True)
class View:
    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @property
    def is_upright(self) -> bool:
        return self.rotation == 0

    @property
    def width(self) -> float:
        across, along = self.right - self.left, self.top - self.bottom
        return across if self.rotation % 180 == 0 else along

    @property
    def height(self) -> float:
        across, along = self.right - self.left, self.top - self.bottom
        return along if self.rotation % 180 == 0 else across

    def seen(self, x: float, y: float) -> tuple[float, float]:
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def holds(self, box: tuple[float, float, float, float]) -> bool:
        """False for what is not a number, too."""
        return (
            box[0] > -MARGIN
            and box[1] > -MARGIN
            and box[2] < self.width + MARGIN
            and box[3] < self.height + MARGIN
        )
