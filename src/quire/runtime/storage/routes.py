"""`/storage/{key}`: downloads and uploads by signed URL. The URL is the right, so there is no principal
here; the application's body limit has to leave these uploads alone, for the signature holds their exact
size.
"""

from __future__ import annotations

import re

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from quire.runtime.storage.backend import StorageBackend, StoredObject
from quire.runtime.storage.content_disposition import attachment
from quire.runtime.storage.errors import StorageMismatchError, StorageUrlError
from quire.runtime.storage.keys import checked_key
from quire.runtime.storage.signed_url import UrlClaim, UrlSigner
from quire.runtime.storage.streams import exactly

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


def storage_routes(backend: StorageBackend, signer: UrlSigner) -> APIRouter:
    router = APIRouter(tags=["storage"])

    def claim_of(request: Request, method: str) -> UrlClaim:
        claim = signer.verify(method, request.path_params["key"], request.query_params.multi_items())
        checked_key(claim.key)
        return claim

    @router.api_route("/storage/{key:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def download(request: Request) -> Response:
        claim = claim_of(request, "GET")
        return _download(backend, request, claim, await backend.stat(claim.key))

    @router.put("/storage/{key:path}", include_in_schema=False)
    async def upload(request: Request) -> Response:
        claim = claim_of(request, "PUT")
        _check_headers(request, claim)
        body = exactly(request.stream(), claim.size)
        try:
            stored = await backend.put_stream(claim.key, body, content_type=claim.type)
        except ClientDisconnect:
            raise StorageMismatchError("the upload broke off") from None
        return Response(headers={"ETag": f'"{stored.etag}"'})

    return router


def _download(backend: StorageBackend, request: Request, claim: UrlClaim, stored: StoredObject) -> Response:
    headers = _headers(claim, stored)
    asked = request.headers.get("range") if _may_range(request, stored) else None
    span = byte_range(asked, stored.size_bytes) if asked else None
    if span is not None and span[0] >= span[1]:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{stored.size_bytes}"})
    start, end = span or (0, stored.size_bytes)
    headers["Content-Length"] = str(end - start)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{stored.size_bytes}"
    status = 200 if span is None else 206
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(backend.get_stream(claim.key, start=start, end=end), status, headers)


def byte_range(header: str, size_bytes: int) -> tuple[int, int] | None:
    """One range as [start, end), empty if nothing of it exists; None for what we may ignore (RFC 9110,
    14.2).
    """
    match = _RANGE.fullmatch(header.replace(" ", ""))
    if match is None or match.group() == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        return max(0, size_bytes - int(last)), size_bytes
    if last and int(last) < int(first):
        return None
    return int(first), min(int(last) + 1, size_bytes) if last else size_bytes


def _may_range(request: Request, stored: StoredObject) -> bool:
    """If-Range asks for the part only of the version that the client has."""
    return request.headers.get("if-range", f'"{stored.etag}"') == f'"{stored.etag}"'


def _headers(claim: UrlClaim, stored: StoredObject) -> dict[str, str]:
    return {
        "Content-Type": stored.content_type,
        "Content-Disposition": attachment(claim.name or None),
        "Accept-Ranges": "bytes",
        "ETag": f'"{stored.etag}"',
        "Cache-Control": "private, no-cache",
        # Stored bytes are foreign: never sniffed, never run as a page of ours.
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }


def _check_headers(request: Request, claim: UrlClaim) -> None:
    """S3 holds both under its signature, so another type or length is another request than the signed one."""
    length = request.headers.get("content-length", str(claim.size))
    if request.headers.get("content-type", "") != claim.type or length != str(claim.size):
        raise StorageUrlError()
