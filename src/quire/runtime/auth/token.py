"""The form of an API token, `qr_<prefix>_<secret>`: made, parsed and compared here; kept only as a hash."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, field

PREFIX_ALPHABET = string.digits + string.ascii_lowercase
SECRET_ALPHABET = string.digits + string.ascii_letters
PREFIX_LENGTH = 8
# 43 characters of a 62-letter alphabet carry 256 bits.
SECRET_LENGTH = 43

_FORM = re.compile(r"qr_([0-9a-z]{8})_([0-9A-Za-z]{32,64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TokenParts:
    prefix: str
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        return f"qr_{self.prefix}_{self.secret}"

    @property
    def secret_hash(self) -> bytes:
        """A fast hash is right here: the secret is 256 random bits, so there is nothing to guess and a
        slow password hash would only make every request slow."""
        return hashlib.sha256(self.secret.encode()).digest()

    def matches(self, secret_hash: bytes) -> bool:
        return hmac.compare_digest(self.secret_hash, secret_hash)


def mint_token() -> TokenParts:
    return TokenParts(_pick(PREFIX_ALPHABET, PREFIX_LENGTH), _pick(SECRET_ALPHABET, SECRET_LENGTH))


def parse_token(text: str) -> TokenParts | None:
    found = _FORM.fullmatch(text)
    return TokenParts(found[1], found[2]) if found else None


def _pick(alphabet: str, length: int) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))
