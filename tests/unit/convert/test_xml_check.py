"""The gateway's answer is one whole XML document, and nothing that a reader could be hurt by."""

from __future__ import annotations

import pytest

from quire.convert.domain.gateway_errors import BadGatewayAnswerError
from quire.convert.domain.xml_check import XmlCheck

WHOLE = (
    '<?xml version="1.0" encoding="UTF-8"?><a x="1"><!-- ü --><b>ä&amp;&#228;</b><![CDATA[<]]></a>\n'.encode()
)


def check(document: bytes, step: int = 7, max_bytes: int = 1_000_000) -> int:
    checked = XmlCheck(max_bytes)
    for start in range(0, len(document), step):
        checked.feed(document[start : start + step])
    checked.close()
    return checked.size_bytes


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_a_whole_document_passes_however_it_is_cut(step: int) -> None:
    assert check(WHOLE, step) == len(WHOLE)


@pytest.mark.parametrize(
    ("document", "reason"),
    {
        "nothing": (b"", "empty"),
        "blanks": (b" \n", "no XML"),
        "text": (b"hello", "no XML"),
        "html": (b"<html><br></html>", "no XML"),
        "cut off": (WHOLE[:-10], "no XML"),
        "two roots": (b"<a/><b/>", "no XML"),
        "wrong encoding": (b"<a>\xff</a>", "no XML"),
        "unknown encoding": (b'<?xml version="1.0" encoding="ebcdic-9"?><a/>', "no XML"),
        "unknown entity": (b"<a>&e;</a>", "no XML"),
        "a prefix of nowhere": (b"<p:a/>", "namespaces"),
        "an attribute twice": (b'<a x="1" x="2"/>', "no XML"),
        "a NUL": (b"<a>\x00</a>", "no XML"),
        "a document type": (b"<!DOCTYPE a><a/>", "declares"),
        "a file read": (b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>', "declares"),
        "an entity bomb": (
            b'<!DOCTYPE a [<!ENTITY e "x"><!ENTITY f "&e;&e;&e;&e;">]><a>&f;</a>',
            "declares",
        ),
        "a parameter entity": (
            b'<!DOCTYPE a [<!ENTITY % e SYSTEM "http://127.0.0.1/">%e;]><a/>',
            "declares",
        ),
        "too long": (b"<a>" + b"x" * 1_000_000 + b"</a>", "larger"),
    }.values(),
)
def test_what_is_no_document_or_no_harmless_one_is_refused(document: bytes, reason: str) -> None:
    with pytest.raises(BadGatewayAnswerError, match=reason):
        check(document, step=1000)


def test_the_longest_that_is_allowed_passes() -> None:
    check(b"<a/>", max_bytes=4)
