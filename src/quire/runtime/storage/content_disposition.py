"""The Content-Disposition of a download, with names in any script (RFC 6266, RFC 5987)."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote

# attr-char of RFC 5987 beyond letters and digits; quote() itself keeps _.-~
_ATTR_CHARS = "!#$&+^`|"


@lru_cache(maxsize=1024)
def attachment(filename: str | None) -> str:
    """Always an attachment: stored bytes are never shown as a page of ours."""
    if filename is None:
        return "attachment"
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe=_ATTR_CHARS)}"
