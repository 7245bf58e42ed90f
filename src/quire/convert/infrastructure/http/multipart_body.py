"""A multipart body of a known length whose file is read while it is sent."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

from quire.convert.ports.v1.gateway_client import PdfSource


class MultipartBody:
    """Fields `mapping` and `file`. The file's name says nothing: the client's own never leaves the API."""

    def __init__(self, mapping: str, pdf: PdfSource) -> None:
        boundary = f"quire-{secrets.token_hex(16)}"
        self._head = (
            f"--{boundary}\r\n"
            'Content-Disposition: form-data; name="mapping"\r\n\r\n'
            f"{mapping}\r\n"
            f"--{boundary}\r\n"
            'Content-Disposition: form-data; name="file"; filename="input.pdf"\r\n'
            "Content-Type: application/pdf\r\n\r\n"
        ).encode()
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._pdf = pdf
        self.headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(self._head) + pdf.size_bytes + len(self._tail)),
        }

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._head
        async for chunk in self._pdf.chunks():
            yield chunk
        yield self._tail
