"""Which language a text is said to be in: the file's word, unless the letters contradict it."""

from __future__ import annotations

import pytest

from quire.convert.domain.language import language_of, long_code

RUSSIAN = "Настоящий закон вступает в силу со дня его опубликования, если иное не указано. См. RFC 9110."
UKRAINIAN = "Цей закон набирає чинності з дня його опублікування, якщо інше не зазначено в ньому."
TURKISH = "Bu Kanun yayımı tarihinde yürürlüğe girer ve hükümlerini Cumhurbaşkanı yürütür."
ENGLISH = "This act comes into force on the day of its publication. Pushkin wrote «Пушкин»."
JAPANESE = "この法律は公布の日から施行する HTTP JSON API"
GREEK = "Ο παρών νόμος τίθεται σε ισχύ από τη δημοσίευσή του."


@pytest.mark.parametrize(
    ("claimed", "text", "language"),
    [
        ("en-US", ENGLISH, "en-US"),
        ("de", ENGLISH, "de"),
        ("en_GB", ENGLISH, "en-GB"),
        ("en-US", RUSSIAN, "ru"),
        ("", RUSSIAN, "ru"),
        ("ru-RU", RUSSIAN, "ru-RU"),
        ("uk", RUSSIAN, "uk"),
        ("sr-Cyrl-RS", RUSSIAN, "sr-Cyrl-RS"),
        ("sr-Latn-RS", RUSSIAN, "ru"),
        ("en-US", UKRAINIAN, ""),
        ("uk-UA", UKRAINIAN, "uk-UA"),
        ("ru-RU", ENGLISH, ""),
        ("", ENGLISH, ""),
        ("", TURKISH, "tr"),
        ("ru", TURKISH, "tr"),
        ("az", TURKISH, "az"),
        ("", TURKISH.replace("a", "ə"), ""),
        ("ja-JP", JAPANESE, "ja-JP"),
        ("en", GREEK, ""),
        ("el", GREEK, "el"),
        ("fr-FR", "", "fr-FR"),
        ("fr-FR", "12 345,67", "fr-FR"),
        ("und", ENGLISH, ""),
        ("English (United States)", ENGLISH, ""),
        ("x" * 50, RUSSIAN, "ru"),
    ],
)
def test_a_claim_counts_while_the_letters_do_not_contradict_it(
    claimed: str, text: str, language: str
) -> None:
    assert language_of(claimed, text) == language


def test_the_addresses_of_laws_have_three_letters_and_und_for_what_is_not_known() -> None:
    assert [long_code(tag) for tag in ("ru", "en-US", "deu", "", "qq")] == ["rus", "eng", "deu", "und", "und"]
