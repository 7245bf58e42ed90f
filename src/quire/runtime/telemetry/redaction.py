"""Takes secrets out of whatever is to be logged: our tokens, DSN passwords, Authorization, signatures."""

from __future__ import annotations

import re

MASK = "***"
DEEPEST = 6

SECRET_KEYS = frozenset(
    {
        "api_key",
        "authorization",
        "cookie",
        "passwd",
        "password",
        "proxy-authorization",
        "secret",
        "secret_key",
        "set-cookie",
        "token",
    }
)

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"qr_([0-9a-z]{8})_[0-9A-Za-z]+"), rf"qr_\1_{MASK}"),
    # The password ends at the last @ of the word: an unescaped @ or / in it must not show its tail.
    (re.compile(r"([a-z][a-z0-9+.-]{0,31}://[^\s/:@\"']{0,256}):[^\s\"']{1,512}@"), rf"\1:{MASK}@"),
    (re.compile(r"\b([Bb]earer|BEARER)\s+[A-Za-z0-9._~+/=-]+"), rf"\1 {MASK}"),
    (
        re.compile(
            r"(?i)\b(password|passwd|secret|secret_key|token|signature|x-amz-signature|sig)=[^\s&\"']+"
        ),
        rf"\1={MASK}",
    ),
)


_HARMLESS = (type(None), bool, int, float)

# Each pattern needs one of these, and nearly all log values have none: a look is ten times cheaper.
_SUSPICIOUS = re.compile("qr_|://|=|earer|EARER")


def redact_text(text: str) -> str:
    if not _SUSPICIOUS.search(text):
        return text
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def redact(value: object, depth: int = 0) -> object:
    """A JSON-like copy without secrets. Other objects become their redacted `repr`; depth is bounded."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, _HARMLESS):
        return value
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, dict):
        named = [(str(key), item) for key, item in value.items()]
        return {key: MASK if key.lower() in SECRET_KEYS else redact(item, depth + 1) for key, item in named}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(item, depth + 1) for item in value]
    return redact_text(repr(value))
