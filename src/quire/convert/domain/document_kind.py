"""What a document calls itself, in the words of its title and first headings: a law, a contract, an invoice. What its
text mentions is not asked: an invoice speaks of the contract it is for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Literal

DocumentKind = Literal["act", "contract", "invoice", "document"]

# So many of the names a document gives itself are looked at, and so much of each.
NAMES_MAX = 6
NAME_LENGTH = 200
WORDS: tuple[tuple[DocumentKind, re.Pattern[str]], ...] = (
    (
        "act",
        re.compile(
            r"\b(закон|кодекс|постановление|указ|act|law|regulation|directive|code|kanun|yönetmelik)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "contract",
        re.compile(
            r"\b(договор\w*|соглашени\w*|контракт\w*|sözleşme\w*|(agreement|contract|lease)s?\b)",
            re.IGNORECASE,
        ),
    ),
    (
        "invoice",
        re.compile(
            r"\b(invoice|facture|rechnung|fatura|factura|fattura|сч[её]т(-фактура| на оплату))\b",
            re.IGNORECASE,
        ),
    ),
)


def kind_of(names: Iterable[str]) -> DocumentKind:
    """The first name that says it decides, and in that the first word: `Invoice for contract 12` is an invoice."""
    for name in islice(filter(None, names), NAMES_MAX):
        said = [(found.start(), kind) for kind, words in WORDS if (found := words.search(name[:NAME_LENGTH]))]
        if said:
            return min(said)[1]
    return "document"
