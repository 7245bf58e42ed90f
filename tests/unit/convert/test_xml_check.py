"""The gateway's answer is one whole XML document, and nothing that a reader could be hurt by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quire.convert.domain.gateway_errors import BadGatewayAnswerError
from quire.convert.domain.xml_check import check_xml

WHOLE = (
    '<?xml version="1.0" encoding="UTF-8"?><a x="1"><!-- ü --><b>ä&amp;&#228;</b><![CDATA[<]]></a>\n'.encode()
)


def check(document: bytes, step: int = 7, max_bytes: int = 1_000_000) -> None:
    check_xml((document[start : start + step] for start in range(0, len(document), step)), max_bytes)


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_a_whole_document_passes_however_it_is_cut(step: int) -> None:
    check(WHOLE, step)


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


def nested(depth: int) -> bytes:
    return b"<a>" * depth + b"</a>" * depth


def test_a_document_as_deep_as_readers_go_passes() -> None:
    check(nested(256), step=100)


@pytest.mark.parametrize("depth", [258, 300_000])
def test_a_document_that_nests_too_deep_is_refused_where_it_does(depth: int) -> None:
    document, taken = nested(depth), list[int]()

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(document), 1000):
            taken.append(start)
            yield document[start : start + 1000]

    with pytest.raises(BadGatewayAnswerError, match="deeper than 256"):
        check_xml(chunks(), 10_000_000)
    assert len(taken) < 10


def test_the_longest_that_is_allowed_passes() -> None:
    check(b"<a/>", max_bytes=4)
