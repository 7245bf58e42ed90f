"""What a gateway may vouch for, how it says so, and what a worker makes of it."""

from __future__ import annotations

import hashlib
import io

import pytest

from quire.convert.application.vouch_for_answer import CHUNK_BYTES, vouch_for_answer
from quire.convert.domain.gateway_errors import BadGatewayAnswerError
from quire.convert.domain.voucher import Voucher, voucher_in
from quire.convert.infrastructure.voucher.answer_check import VouchedAnswerCheck

HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
PLAIN = HEAD + b"<a>" + b"text &lt;! " * 300_000 + b"</a>"
SHA256 = hashlib.sha256(PLAIN).digest()


def across_chunks(mark: bytes) -> bytes:
    """Its first byte is the last of a chunk."""
    return HEAD + b"<a>" + b"x" * (CHUNK_BYTES - len(HEAD) - 4) + mark + b"</a>"


def test_the_gateway_vouches_for_the_bytes_that_it_has() -> None:
    xml = io.BytesIO(PLAIN)
    assert vouch_for_answer(xml, "ALTO 4.3") == Voucher(SHA256, "ALTO 4.3")
    assert xml.read() == PLAIN


@pytest.mark.parametrize(
    "xml",
    [
        HEAD + b'<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>',
        HEAD + b"<a><!-- a note --></a>",
        HEAD + b"<a><![CDATA[raw]]></a>",
        across_chunks(b"<!-- a note -->"),
        b"<a/>",
        b"",
        b"\xef\xbb\xbf" + HEAD + b"<a/>",
        b'<?xml version="1.0" encoding="UTF-16"?><a/>',
        b'<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE a+AD4-<a/>',
        HEAD.decode().encode("utf-16") + "<!DOCTYPE a><a/>".encode("utf-16"),
    ],
)
def test_xml_in_which_a_document_type_could_stand_is_nothing_to_vouch_for(xml: bytes) -> None:
    assert vouch_for_answer(io.BytesIO(xml), "ALTO 4.3") is None


def test_a_mark_is_looked_for_across_chunks_and_not_only_in_them() -> None:
    assert across_chunks(b"<!")[CHUNK_BYTES - 1 : CHUNK_BYTES + 1] == b"<!"
    assert vouch_for_answer(io.BytesIO(across_chunks(b"<b/>")), "ALTO 4.3") is not None


def test_a_voucher_is_said_in_headers_and_understood_from_them() -> None:
    voucher = Voucher(SHA256, "ALTO 4.3")
    said = voucher.as_headers()
    assert voucher_in(said) == voucher
    both = {**said, "Content-Digest": f"sha-512=:{'A' * 86}==:, {said['Content-Digest']}"}
    assert voucher_in(both) == voucher


@pytest.mark.parametrize(
    "changed",
    [
        {"Content-Digest": ""},
        {"Content-Digest": "sha-256=::"},
        {"Content-Digest": "sha-256=:"},
        {"Content-Digest": "sha-256=:AAAA:"},
        {"Content-Digest": "sha-256=:no base64 at all:"},
        {"Content-Digest": "md5=:XrY7u+Ae7tCTyyK7j1rNww==:"},
        {"Content-Digest": "sha-256=" + "0" * 64},
    ],
)
def test_what_is_said_wrongly_is_no_voucher(changed: dict[str, str]) -> None:
    assert voucher_in({**Voucher(SHA256, "ALTO 4.3").as_headers(), **changed}) is None


def test_a_digest_alone_says_nothing_of_a_schema() -> None:
    said = Voucher(SHA256, "ALTO 4.3").as_headers()
    assert voucher_in({"Content-Digest": said["Content-Digest"]}) == Voucher(SHA256, "")


async def checked(*chunks: bytes, max_bytes: int = 1 << 30) -> None:
    check = VouchedAnswerCheck(max_bytes, Voucher(SHA256, "ALTO 4.3"))
    for chunk in chunks:
        await check.feed(chunk)
    await check.finish()
    check.close()


async def test_the_very_bytes_pass_in_whatever_pieces_they_come() -> None:
    await checked(PLAIN)
    await checked(PLAIN[:1], PLAIN[1:70_000], PLAIN[70_000:])
    await checked(PLAIN, max_bytes=len(PLAIN))


@pytest.mark.parametrize(
    ("chunks", "max_bytes", "reason"),
    [
        ((PLAIN[:-1],), 1 << 30, "not what its digest says"),
        ((PLAIN, b" "), 1 << 30, "not what its digest says"),
        ((), 1 << 30, "empty"),
        ((PLAIN,), len(PLAIN) - 1, "larger than"),
    ],
)
async def test_other_bytes_too_many_or_none_are_a_bad_answer(
    chunks: tuple[bytes, ...], max_bytes: int, reason: str
) -> None:
    with pytest.raises(BadGatewayAnswerError, match=reason):
        await checked(*chunks, max_bytes=max_bytes)
