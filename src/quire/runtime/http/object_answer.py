"""Answers a download with a stored object: whole or a range, named by its hash, never run as a page of ours."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from fastapi import Response
from fastapi.responses import StreamingResponse

from quire.runtime.storage import StorageBackend, StorageCorruptError
from quire.runtime.storage.backend import CHUNK_BYTES
from quire.runtime.storage.content_disposition import attachment
from quire.runtime.storage.routes import byte_range


@dataclass(frozen=True, slots=True)
class Download:
    key: str
    size_bytes: int
    sha256: str
    content_type: str
    filename: str


async def object_answer(
    storage: StorageBackend, download: Download, asked_range: str | None, if_none_match: str | None
) -> Response:
    """200, 206, 304 or 416. Raises StorageNotFoundError before any header goes out when the bytes are gone, and
    StorageCorruptError when they are not what the database says: later only a broken connection could tell."""
    headers = _headers(download)
    if if_none_match is not None and headers["ETag"] in if_none_match:
        return Response(status_code=304, headers={"ETag": headers["ETag"]})
    if asked_range is None and download.size_bytes <= CHUNK_BYTES:
        # Not more than a stream holds at a time, in one call instead of four, and proven by its hash.
        whole = await storage.get_bytes(download.key, max_bytes=CHUNK_BYTES)
        if hashlib.sha256(whole).hexdigest() != download.sha256:
            raise StorageCorruptError("the object's bytes have another sha256")
        return Response(whole, headers=headers)
    if (await storage.stat(download.key)).size_bytes != download.size_bytes:
        raise StorageCorruptError("the object has not the length it was stored with")
    span = byte_range(asked_range, download.size_bytes) if asked_range else None
    if span is not None and span[0] >= span[1]:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{download.size_bytes}"})
    start, end = span or (0, download.size_bytes)
    headers["Content-Length"] = str(end - start)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{download.size_bytes}"
    body = storage.get_stream(download.key, start=start, end=end)
    return StreamingResponse(body, 200 if span is None else 206, headers)


def _headers(download: Download) -> dict[str, str]:
    return {
        "Content-Type": download.content_type,
        "Content-Disposition": attachment(download.filename),
        "Accept-Ranges": "bytes",
        "ETag": f'"{download.sha256}"',
        "Cache-Control": "private, no-cache",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
