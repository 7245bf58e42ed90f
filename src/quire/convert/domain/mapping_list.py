"""The mappings that this server lets through: checked where work is accepted, and again where it is done."""

from __future__ import annotations

from collections.abc import Iterable

from quire.kernel import InvalidInputError

# What the mappings of the bundled gateway give; another gateway may have more.
DESCRIPTIONS = {
    "alto": "ALTO 4: pages, blocks, lines and words with their boxes, fonts and confidence",
    "tei": "TEI P5: headings, paragraphs, lists and page breaks",
    "akn": "Akoma Ntoso 3: parts, articles, sections and numbered paragraphs of legal texts",
    "facturx": "the invoice (CII) that a Factur-X or ZUGFeRD file carries",
    "ubl-invoice": "that invoice as UBL 2.1",
}


class MappingNotAllowedError(InvalidInputError):
    code = "MAPPING_NOT_ALLOWED"
    title = "The mapping is not on this server's list"


class MappingList:
    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(dict.fromkeys(names))

    def check(self, name: str) -> str:
        if name not in self.names:
            raise MappingNotAllowedError(
                f"no mapping {name[:60]!r} here; there are: {', '.join(self.names) or 'none'}"
            )
        return name
