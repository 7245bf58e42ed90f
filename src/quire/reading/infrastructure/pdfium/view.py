"""From the file's coordinates, which grow upwards and know no rotation, to the page as a reader sees it."""

from __future__ import annotations

# Nothing further off the page than this is part of it; absurd coordinates come from damage or malice.
OFF_PAGE = -2_000.0


def rotation_for(along: float, upward: float) -> int:
    """The rotation by which text that runs in this direction in the file reads from left to right."""
    if abs(along) >= abs(upward):
        return 0 if along >= 0 else 180
    return 90 if upward > 0 else 270


class View:
    def __init__(self, left: float, bottom: float, right: float, top: float, rotation: int) -> None:
        self.left, self.bottom, self.right, self.top = left, bottom, right, top
        self.rotation = rotation
        self.is_upright = rotation == 0
        self.is_sideways = rotation % 180 != 0
        self.far_right = self.width - OFF_PAGE
        self.far_bottom = self.height - OFF_PAGE

    def turned(self, rotation: int) -> View:
        return View(self.left, self.bottom, self.right, self.top, rotation)

    @property
    def width(self) -> float:
        across, along = self.right - self.left, self.top - self.bottom
        return along if self.is_sideways else across

    @property
    def height(self) -> float:
        across, along = self.right - self.left, self.top - self.bottom
        return across if self.is_sideways else along

    def seen(self, x: float, y: float) -> tuple[float, float]:
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y
