"""Prints with Chromium: warm, sandboxed, without any network, the same bytes every time."""

from quire.render.infrastructure.chromium.options import ChromiumOptions
from quire.render.infrastructure.chromium.page_printer import ChromiumPrinter

__all__ = ["ChromiumOptions", "ChromiumPrinter"]
