"""Puts the machine-readable invoice into the printed one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class InvoiceEmbedder(Protocol):
    def embed(self, pdf: bytes, data: Mapping[str, object], profile: str, language: str) -> bytes:
        """SHALL return a PDF/A-3 file that carries the payload's invoice as CII XML of `profile`, valid against its
        XSD, with the pages of `pdf` unchanged. SHALL return `pdf` itself when the payload has no `e_invoice` block.
        SHALL give the same bytes for the same arguments, in whichever process. SHALL raise TemplateError with the
        JSON pointer of the value at fault (`extra["pointer"]`) when the data cannot make a valid invoice.
        Blocks for some milliseconds: call it off the event loop."""
        ...
