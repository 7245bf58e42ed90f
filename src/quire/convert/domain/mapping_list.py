"""The mappings that this server lets through: checked where work is accepted, and again where it is done."""

from __future__ import annotations

from collections.abc import Iterable

from quire.kernel import InvalidInputError

# What the mappings of the bundled gateway give; another gateway may have more. Here and not beside the mappings, for
# the API tells it too, and loading them would cost it half a second and 40 MB.
DESCRIPTIONS = {
    "alto": "Pages, blocks, lines and words with boxes, fonts and confidence",
    "tei": "Headings, paragraphs, lists and page breaks, as TEI P5",
    "akn": "Parts, chapters, articles, sections and numbered paragraphs of legal texts, as Akoma Ntoso 3",
    "facturx": "The invoice (CII) that a Factur-X or ZUGFeRD file carries, unchanged",
    "ubl-invoice": "The invoice that a Factur-X or ZUGFeRD file carries, as UBL 2.1",
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
