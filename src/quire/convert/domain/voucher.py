"""What a gateway says of XML that it wrote and held against a schema itself: these bytes, told by their digest, are one
well-formed document without a document type. Two headers of its answer: RFC 9530's digest, and the schema. The digest
alone says only which bytes were sent."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

CHECKED_HEADER = "Quire-Checked"
DIGEST_HEADER = "Content-Digest"
ALGORITHM = "sha-256"
SHA256_BYTES = 32


@dataclass(frozen=True, slots=True)
class Voucher:
    """Without a `schema` nobody looked at what the bytes say."""

    sha256: bytes
    schema: str

    def as_headers(self) -> dict[str, str]:
        digest = base64.b64encode(self.sha256).decode()
        return {DIGEST_HEADER: f"{ALGORITHM}=:{digest}:", CHECKED_HEADER: self.schema}


def voucher_in(headers: Mapping[str, str]) -> Voucher | None:
    """Of headers by their names in any case. What is said wrongly is not said."""
    digests = [_sha256(member.strip()) for member in headers.get(DIGEST_HEADER, "").split(",")]
    found = next((digest for digest in digests if digest is not None), None)
    return Voucher(found, headers.get(CHECKED_HEADER, "")) if found else None


def _sha256(member: str) -> bytes | None:
    """`sha-256=:…:`; other algorithms stand beside it."""
    name, _, value = member.partition("=")
    if name != ALGORITHM or len(value) < 2 or not value.startswith(":") or not value.endswith(":"):
        return None
    try:
        digest = base64.b64decode(value[1:-1], validate=True)
    except binascii.Error:
        return None
    return digest if len(digest) == SHA256_BYTES else None
