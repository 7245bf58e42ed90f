"""AES-256-GCM under a key derived from QUIRE_SECRET_KEY. The owner is authenticated with the secret: a row copied
over another one does not open."""

from __future__ import annotations

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from quire.jobs.domain.webhooks.webhook_errors import SecretUnreadableError, WebhooksUnavailableError

_PURPOSE = b"quire webhook secrets v1"
_VERSION = b"\x01"
_NONCE_BYTES = 12
KEY_MIN_BYTES = 16


class AesGcmSecretBox:
    def __init__(self, key: str, accepted: str = "") -> None:
        """`accepted`: a second key, which opens and never seals."""
        self._cipher = _cipher(key)
        self._accepted = _cipher(accepted)

    @property
    def usable(self) -> bool:
        return self._cipher is not None

    def seal(self, secret: str, owner: str) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._ready().encrypt(nonce, secret.encode(), owner.encode())

    def open(self, sealed: bytes, owner: str) -> str:
        for cipher in (self._ready(), self._accepted):
            secret = None if cipher is None else _opened(cipher, sealed, owner)
            if secret is not None:
                return secret
        raise SecretUnreadableError()

    def renewed(self, sealed: bytes, owner: str) -> bytes:
        if _opened(self._ready(), sealed, owner) is not None:
            return sealed
        return self.seal(self.open(sealed, owner), owner)

    def _ready(self) -> AESGCM:
        if self._cipher is None:
            raise WebhooksUnavailableError(f"QUIRE_SECRET_KEY: at least {KEY_MIN_BYTES} bytes are needed")
        return self._cipher


def _cipher(key: str) -> AESGCM | None:
    """A key of its own: the same setting signs other things elsewhere."""
    if len(key.encode()) < KEY_MIN_BYTES:
        return None
    return AESGCM(hmac.digest(key.encode(), _PURPOSE, hashlib.sha256))


def _opened(cipher: AESGCM, sealed: bytes, owner: str) -> str | None:
    version, nonce, text = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    if version != _VERSION:
        return None
    try:
        return cipher.decrypt(nonce, text, owner.encode()).decode()
    except (InvalidTag, ValueError):
        return None
