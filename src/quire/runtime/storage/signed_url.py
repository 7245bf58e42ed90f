"""Signed URLs of Quire's own, for storage that has none: method, key, expiry, type, size and file name are
all under an HMAC-SHA256. It refuses anything expired or changed with one and the same error.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from quire.kernel import Clock, SystemClock, canonical_json
from quire.runtime.settings import SettingsError
from quire.runtime.storage.errors import StorageUrlError

SECRET_MIN_BYTES = 16
_PURPOSE = b"quire storage url v1"
_FIELDS = {"method", "expires", "type", "size", "name"}


@dataclass(frozen=True)
class UrlClaim:
    """What the holder of a URL may do. Empty fields are signed as empty."""

    method: str
    key: str
    expires: int
    type: str = ""
    size: int = -1
    name: str = ""

    @property
    def expires_at(self) -> datetime:
        return datetime.fromtimestamp(self.expires, UTC)


class UrlSigner:
    def __init__(
        self, secret: str, public_url: str, clock: Clock | None = None, *, accepted: str = ""
    ) -> None:
        """`accepted`: a second secret, whose signatures are good too."""
        self._public_url = public_url.rstrip("/")
        self._clock = clock or SystemClock()
        self._key = _derived("QUIRE_SECRET_KEY", secret)
        self._accepted = _derived("QUIRE_SECRET_KEY_ACCEPTED", accepted)

    def expiry(self, ttl_seconds: int) -> int:
        return int(self._clock.now().timestamp()) + ttl_seconds

    def url(self, claim: UrlClaim) -> str:
        fields: dict[str, str] = {"method": claim.method, "expires": str(claim.expires)}
        if claim.method == "PUT":
            fields |= {"type": claim.type, "size": str(claim.size)}
        if claim.name:
            fields["name"] = claim.name
        query = urlencode(fields | {"signature": self._sign(claim)}, quote_via=quote)
        return f"{self._public_url}/storage/{quote(claim.key)}?{query}"

    def verify(self, method: str, key: str, query: Iterable[tuple[str, str]]) -> UrlClaim:
        """The claim, if every byte of it is ours and its time is not over; otherwise StorageUrlError."""
        pairs = list(query)
        fields = dict(pairs)
        signature = fields.pop("signature", "")
        if len(fields) + 1 != len(pairs) or not fields.keys() <= _FIELDS:
            raise StorageUrlError()
        claim = _claim(key, fields)
        if not self._signed(claim, signature):
            raise StorageUrlError()
        if claim.method != method or self._clock.now() >= claim.expires_at:
            raise StorageUrlError()
        return claim

    def _sign(self, claim: UrlClaim) -> str:
        if not self._key:
            raise SettingsError("QUIRE_SECRET_KEY: needed to sign storage URLs")
        return _signature(self._key, claim)

    def _signed(self, claim: UrlClaim, signature: str) -> bool:
        good = [self._sign(claim)]
        if self._accepted:
            good.append(_signature(self._accepted, claim))
        return any(hmac.compare_digest(one.encode(), signature.encode()) for one in good)


def _derived(name: str, secret: str) -> bytes:
    """A key of its own: the same secret signs and encrypts other things elsewhere."""
    if secret and len(secret.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(f"{name}: at least {SECRET_MIN_BYTES} bytes are needed")
    return hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256) if secret else b""


def _signature(key: bytes, claim: UrlClaim) -> str:
    return hmac.new(key, canonical_json(asdict(claim)), hashlib.sha256).hexdigest()


def _claim(key: str, fields: dict[str, str]) -> UrlClaim:
    return UrlClaim(
        method=fields.get("method", ""),
        key=key,
        expires=_number(fields.get("expires", "")),
        type=fields.get("type", ""),
        size=_number(fields["size"]) if "size" in fields else -1,
        name=fields.get("name", ""),
    )


def _number(text: str) -> int:
    # No more digits than a JSON number carries exactly.
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise StorageUrlError()
    return int(text)
