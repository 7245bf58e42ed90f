"""Signatures as https://www.standardwebhooks.com describes them: HMAC-SHA256 over id, time and body together, so
that none of the three can be exchanged. Each valid secret signs: receivers change theirs without a gap."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

SECRET_PREFIX = "whsec_"  # noqa: S105
SECRET_BYTES = 32


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def signed_headers(webhook_id: str, timestamp: int, body: bytes, keys: Sequence[str]) -> dict[str, str]:
    message = f"{webhook_id}.{timestamp}.".encode() + body
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{_signature(key, message)}" for key in keys),
    }


def _signature(secret: str, message: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    return base64.b64encode(hmac.digest(key, message, hashlib.sha256)).decode("ascii")
