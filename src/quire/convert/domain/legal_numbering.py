"""How laws and contracts number their parts, in Russian, English and Turkish: which words and marks begin one, and
what it is called in Akoma Ntoso."""

from __future__ import annotations

import re
from dataclasses import dataclass

ROMAN_OR_DIGITS = r"(?:[IVXLCDM]+|\d+(?:[.-]\d+)*[a-zа-я]?)"
ORDINALS = (
    "первая|вторая|третья|четвертая|четвёртая|пятая|шестая|седьмая|восьмая|one|two|three|four|five|six|seven|eight"
    "|nine|ten|a|b|c|d"
)
# Kind, rank (a lower one holds the higher), the words.
NAMED = (
    ("part", 10, "часть|part|kısım"),
    ("title", 20, "раздел|title"),
    ("subtitle", 30, "подраздел|subtitle"),
    ("chapter", 40, "глава|chapter|bölüm"),
    ("subchapter", 50, "параграф|subchapter"),
    ("section", 60, "section|sec\\."),
    ("article", 60, "статья|article|art\\.|madde"),
)
NAMED_FORMS = tuple(
    (
        kind,
        rank,
        re.compile(
            rf"((?:{words})\s+(?:{ROMAN_OR_DIGITS}|(?:{ORDINALS})\b))\s*([.:–—-]?)\s*(.*)",
            re.IGNORECASE | re.DOTALL,
        ),
    )
    for kind, rank, words in NAMED
)
PARAGRAPH_SIGN = re.compile(r"(§+\s*\d+(?:\.\d+)*)\s*([.:]?)\s*(.*)", re.DOTALL)
DECIMAL = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})(\.?)\s+(.*)", re.DOTALL)
BRACKETED = re.compile(r"(\(?(?:\d{1,3}|[a-zа-яё])\))\s*(.*)", re.DOTALL)
ROMAN_POINT = re.compile(r"(\([ivx]{1,5}\)|[ivx]{2,5}\))\s+(.*)", re.DOTALL)
BULLET = re.compile(r"([•◦▪■●○–—‣·*])\s+(.*)", re.DOTALL)

# Headings without a number: what they are called as containers, and the words.
UNNUMBERED = (
    (
        "schedule",
        re.compile(r"(?:schedule|annex|appendix|exhibit|приложение|ek)\b.*", re.IGNORECASE | re.DOTALL),
    ),
    ("signatures", re.compile(r"(?:signatures?|подписи(?: сторон)?|imzalar)", re.IGNORECASE)),
)
RECITALS = re.compile(
    r"(?:whereas|recitals|background|preamble|преамбула|başlangıç|dibace)[:.]?", re.IGNORECASE
)

DECIMAL_RANK, POINT_RANK, ROMAN_RANK, INDENT_RANK = 70, 90, 94, 97
DECIMAL_KINDS = ("paragraph", "subparagraph", "clause", "subclause", "list")
HEADING_LENGTH = 250


@dataclass(frozen=True, slots=True)
class Beginning:
    """`text` is what follows the number; `is_named` when a word, not only a mark, begins it."""

    kind: str
    rank: int
    number: str
    text: str
    is_named: bool


def beginning_of(text: str, *, stands_out: bool) -> Beginning | None:
    """`stands_out`: set as a heading is. A sentence that begins «Статья 5 настоящего закона …» begins no article."""
    return _named(text, stands_out) or _sign(text) or _decimal(text, stands_out) or _marked(text)


def container_of(heading: str) -> str:
    """What a part is that has a heading and no number."""
    return next((name for name, words in UNNUMBERED if words.fullmatch(heading)), "division")


def _named(text: str, stands_out: bool) -> Beginning | None:
    for kind, rank, form in NAMED_FORMS:
        found = form.fullmatch(text)
        if found is None:
            continue
        number, mark, rest = found.groups()
        if rest[:1].islower() or (rest and not mark and not stands_out and not rest.isupper()):
            return None
        if len(text) > HEADING_LENGTH and not mark:
            return None
        return Beginning(kind, rank, number + mark.strip("–—-"), rest, True)
    return None


def _sign(text: str) -> Beginning | None:
    found = PARAGRAPH_SIGN.fullmatch(text)
    return Beginning("subchapter", 50, found[1] + found[2], found[3], True) if found else None


def _decimal(text: str, stands_out: bool) -> Beginning | None:
    """`1.`, `1.1`, `1.1.1.`; a bare `5 apples` is a sentence."""
    found = DECIMAL.fullmatch(text)
    if found is None or not (found[2] or "." in found[1]) or found[3][:1].islower():
        return None
    depth = found[1].count(".")
    kind = "section" if depth == 0 and stands_out else DECIMAL_KINDS[depth]
    return Beginning(kind, DECIMAL_RANK + depth, found[1] + found[2], found[3], False)


def _marked(text: str) -> Beginning | None:
    for form, kind, rank in (
        (ROMAN_POINT, "indent", ROMAN_RANK),
        (BRACKETED, "point", POINT_RANK),
        (BULLET, "indent", INDENT_RANK),
    ):
        found = form.fullmatch(text)
        if found and found[2]:
            return Beginning(kind, rank, found[1], found[2], False)
    return None
