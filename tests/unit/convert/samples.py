"""The sample PDFs, and a mapping run over one of them in this process."""

from __future__ import annotations

from pathlib import Path

from quire.convert.infrastructure.mappings import MAPPINGS
from quire.convert.infrastructure.mappings.mapping import Source

SAMPLES = Path(__file__).parents[2] / "samples" / "pdf"
GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.pdf"))
INVOICES = [name for name in NAMES if name.startswith("invoice-")]
# Poppler takes forms apart, numbers from their clauses, and columns where a gap in one meets a gap in the other.
READ_BY_EYE = [*INVOICES, "mom-columns", "own-agreement-en", "own-agreement-ru"]


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.pdf").read_bytes()


def mapped(mapping: str, pdf: bytes, **shares: int) -> bytes:
    """Checked, as the gateway does it."""
    return MAPPINGS[mapping].checked(Source(pdf, len(pdf), 1000, **shares))
