"""In which language a text is, as a tag (`en-US`), or nothing where nobody can say. Word processors claim the language
of their user, so a claim counts only while the letters do not contradict it."""

from __future__ import annotations

import re
from collections.abc import Mapping

TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,4}")
CYRILLIC, LATIN, OTHER = "cyrillic", "latin", "other"
LETTERS = {CYRILLIC: re.compile(r"[\u0400-\u052f]"), LATIN: re.compile(r"[A-Za-z\u00c0-\u024f]")}
LETTER = re.compile(r"[^\W\d_]")
# Languages by their script; all others are written in Latin letters.
CYRILLIC_ONLY = "ab av ba be bg bua ce cv kbd kv mk myv os ru sah tyv udm uk"
CYRILLIC_OR_LATIN = "az bs kk ky mn sh sr tg tk tt uz"
NEITHER = """am ar as bn bo ckb dv dz el fa grc gu he hi hy ja ka km kn ko lo ml mr my ne or pa ps sa sd si ta te th ti
ug ur yi zh"""
SCRIPTS = (
    dict.fromkeys(CYRILLIC_ONLY.split(), frozenset({CYRILLIC}))
    | dict.fromkeys(CYRILLIC_OR_LATIN.split(), frozenset({CYRILLIC, LATIN}))
    | dict.fromkeys(NEITHER.split(), frozenset({OTHER}))
)
# Scripts of other kinds say more with a letter, so a text in one may well have more Latin letters.
OTHER_SHARE = 0.1
# What a language's own letters make of its texts, at the least; a foreign name makes less.
OWN_SHARE = 0.01
NOT_RUSSIAN = re.compile(r"[\u0400\u0402-\u040f\u0450\u0452-\u052f]")
TURKISH, NOT_TURKISH = re.compile("[ğıİ]"), re.compile("[əƏ]")

# ISO 639-1 and 639-2/T, as the addresses of laws have it.
CODES = """ar:ara az:aze be:bel bg:bul bs:bos ca:cat cs:ces cy:cym da:dan de:deu el:ell en:eng es:spa et:est eu:eus
fa:fas fi:fin fr:fra ga:gle gl:glg he:heb hi:hin hr:hrv hu:hun hy:hye id:ind is:isl it:ita ja:jpn ka:kat kk:kaz ko:kor
ky:kir lt:lit lv:lav mk:mkd mn:mon mt:mlt nb:nob nl:nld nn:nno no:nor pl:pol pt:por ro:ron ru:rus sk:slk sl:slv sq:sqi
sr:srp sv:swe tg:tgk th:tha tk:tuk tr:tur tt:tat uk:ukr uz:uzb vi:vie zh:zho"""
LONG = dict(pair.split(":") for pair in CODES.split())
UNDETERMINED = "und"


def language_of(claimed: str, text: str) -> str:
    """`claimed` by the file, if it is a tag and its script is that of the text; else what the letters tell."""
    tag = claimed.strip().replace("_", "-").replace(" ", "-")
    known = TAG.fullmatch(tag) is not None and tag.lower() != UNDETERMINED
    counts = _counts(text)
    if known and _agree(tag, counts):
        return tag
    return _told_by_letters(text, counts)


def long_code(tag: str) -> str:
    """Three letters, `und` for none and for languages that are not known here."""
    language = tag.partition("-")[0].lower()
    return language if len(language) == 3 else LONG.get(language, UNDETERMINED)


def _counts(text: str) -> dict[str, int]:
    counts = {script: len(letters.findall(text)) for script, letters in LETTERS.items()}
    return counts | {OTHER: max(0, len(LETTER.findall(text)) - sum(counts.values()))}


def _agree(tag: str, counts: Mapping[str, int]) -> bool:
    total = sum(counts.values())
    scripts = _scripts_of(tag)
    if OTHER in scripts and counts[OTHER] >= OTHER_SHARE * total:
        return True
    return not total or max(counts, key=lambda script: counts[script]) in scripts


def _scripts_of(tag: str) -> frozenset[str]:
    language, *rest = tag.lower().split("-")
    named = next((part for part in rest if len(part) == 4 and part.isalpha()), None)
    if named:
        return frozenset({{"cyrl": CYRILLIC, "latn": LATIN}.get(named, OTHER)})
    return SCRIPTS.get(language, frozenset({LATIN}))


def _told_by_letters(text: str, counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    if counts[CYRILLIC] > total / 2:
        return "ru" if len(NOT_RUSSIAN.findall(text)) <= OWN_SHARE * counts[CYRILLIC] else ""
    if counts[LATIN] > total / 2 and not NOT_TURKISH.search(text):
        return "tr" if len(TURKISH.findall(text)) > OWN_SHARE * counts[LATIN] else ""
    return ""
