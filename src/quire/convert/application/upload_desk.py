"""Files that a client puts into the storage itself, past the API: a signed place for one, and its bytes later.
A caller's uploads lie in a folder of its own; no key leads out of it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

from quire.convert.domain.pdf_check import FileTooLargeError
from quire.kernel import NotFoundError, new_uuid7
from quire.runtime.auth import Principal
from quire.runtime.storage import PresignedUrl, StorageBackend, StorageNotFoundError, checked_key

UPLOADS = "convert/uploads/"
SIGNED_SECONDS = 600
USER_DIGITS = 16


class UploadNotFoundError(NotFoundError):
    """One answer for a key that is empty and one that is somebody else's."""

    code = "UPLOAD_NOT_FOUND"
    title = "No such upload"


class UploadDesk:
    def __init__(self, storage: StorageBackend, max_file_bytes: int) -> None:
        self._storage = storage
        self._max_file_bytes = max_file_bytes

    async def place(self, caller: Principal, size_bytes: int) -> tuple[str, PresignedUrl]:
        """A key, and the URL that takes exactly so many bytes of PDF there."""
        if size_bytes > self._max_file_bytes:
            raise FileTooLargeError(f"a file here has at most {self._max_file_bytes} bytes")
        key = f"{_folder(caller)}{new_uuid7()}.pdf"
        url = await self._storage.presign_put(
            key, ttl_seconds=SIGNED_SECONDS, content_type="application/pdf", size_bytes=size_bytes
        )
        return key, url

    async def read(self, caller: Principal, key: str) -> AsyncIterator[bytes]:
        """Raises before the first chunk when there is nothing for this caller."""
        if not checked_key(key).startswith(_folder(caller)):
            raise UploadNotFoundError("no such upload")
        try:
            await self._storage.stat(key)
        except StorageNotFoundError:
            raise UploadNotFoundError("no such upload") from None
        return self._storage.get_stream(key)


def _folder(caller: Principal) -> str:
    """By a digest: a user's name may hold what no key may."""
    user = hashlib.sha256(caller.user.encode()).hexdigest()[:USER_DIGITS]
    return f"{UPLOADS}{caller.tenant_id}/{user}/"
