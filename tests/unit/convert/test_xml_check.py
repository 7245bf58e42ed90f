"""The gateway's answer is one whole XML document, and nothing that a reader could be hurt by."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import lzma
import os
import zlib

import pytest

from quire.convert.domain.gateway_errors import BadGatewayAnswerError
from quire.convert.infrastructure.libxml2.answer_check import PIPE_BYTES, PipedAnswerCheck
from quire.convert.infrastructure.libxml2.xml_check import check_xml

DEADLINE_SECONDS = 60.0

WHOLE = (
    '<?xml version="1.0" encoding="UTF-8"?><a x="1"><!-- ü --><b>ä&amp;&#228;</b><![CDATA[<]]></a>\n'.encode()
)


async def feed(check: PipedAnswerCheck, document: bytes, step: int) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        for start in range(0, len(document), step):
            await check.feed(document[start : start + step])
        await check.finish()


async def check(document: bytes, step: int = 7, max_bytes: int = 1_000_000) -> None:
    checking = PipedAnswerCheck(max_bytes)
    try:
        await feed(checking, document, step)
    finally:
        checking.close()


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
async def test_a_whole_document_passes_however_it_is_cut(step: int) -> None:
    await check(WHOLE, step)


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "shift_jis"])
async def test_a_document_in_an_encoding_that_it_names_passes(encoding: str) -> None:
    await check(f'<?xml version="1.0" encoding="{encoding}"?><a b="c">d</a>'.encode(encoding))


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
        "wrong encoding, far inside": (b"<a>" + b"x" * 100_000 + b"\xff</a>", "no XML"),
        "gzip": (gzip.compress(WHOLE), "compressed"),
        "xz": (lzma.compress(WHOLE), "no XML"),
        "lzma": (lzma.compress(WHOLE, format=lzma.FORMAT_ALONE), "no XML"),
        "bzip2": (bz2.compress(WHOLE), "no XML"),
        "zlib": (zlib.compress(WHOLE), "no XML"),
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
async def test_what_is_no_document_or_no_harmless_one_is_refused(document: bytes, reason: str) -> None:
    with pytest.raises(BadGatewayAnswerError, match=reason):
        await check(document, step=1000)


def nested(depth: int) -> bytes:
    return b"<a>" * depth + b"</a>" * depth


async def test_a_document_as_deep_as_readers_go_passes() -> None:
    await check(nested(256), step=100)


async def test_a_document_that_nests_too_deep_is_refused() -> None:
    with pytest.raises(BadGatewayAnswerError, match="deeper than 256"):
        await check(nested(258), step=1000)


async def test_a_long_document_that_nests_too_deep_is_refused_where_it_does() -> None:
    """The rest is not taken: it would not fit into the pipe."""
    checking = PipedAnswerCheck(1 << 30)
    try:
        with pytest.raises(BadGatewayAnswerError, match="deeper than 256"):
            await asyncio.wait_for(checking.feed(b"<a>" * PIPE_BYTES), DEADLINE_SECONDS)
    finally:
        checking.close()


async def test_the_longest_that_is_allowed_passes() -> None:
    await check(b"<a/>", max_bytes=4)


def test_a_check_that_cannot_read_the_pipe_passes_nothing() -> None:
    outlet, inlet = os.pipe()
    os.close(inlet)
    os.close(outlet)
    with pytest.raises(OSError):
        check_xml(outlet)


def test_what_the_parser_left_unread_passes_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where `/dev/fd` is missing: then it has nothing to find fault with."""
    outlet, inlet = os.pipe()
    os.write(inlet, b"<a/>")
    os.close(inlet)
    monkeypatch.setattr("quire.convert.infrastructure.libxml2.xml_check.PIPES", "/nowhere/{}")
    try:
        with pytest.raises(OSError, match="not read"):
            check_xml(outlet)
    finally:
        os.close(outlet)
