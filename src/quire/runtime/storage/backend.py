"""The storage port: whole objects under keys. One contract suite (`tests/contract/runtime/test_storage.py`) runs over
every adapter. It refuses partial objects: a reader sees nothing, the old object or the new one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

CHUNK_BYTES = 1024 * 1024
DEFAULT_CONTENT_TYPE = "application/octet-stream"
LIST_MAX = 1000
PRESIGN_MAX_SECONDS = 7 * 24 * 3600

# Returns when bytes that are all there may be kept; raises when they may not.
Approval = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class StoredObject:
    """`sha256` is hex; None only where the object came in without passing through Quire, or as a long
    stream to S3.
    """

    key: str
    size_bytes: int
    sha256: str | None
    etag: str
    content_type: str
    modified_at: datetime


@dataclass(frozen=True)
class ListedObject:
    key: str
    size_bytes: int
    modified_at: datetime


@dataclass(frozen=True)
class PresignedUrl:
    """The client SHALL send `headers` as given. Whoever holds the URL holds the right, until `expires_at`."""

    method: str
    url: str
    headers: Mapping[str, str]
    expires_at: datetime


class StorageBackend(Protocol):
    """Every method SHALL check the key first (STORAGE_KEY_INVALID), SHALL raise only errors of
    `quire.runtime.storage.errors`, and SHALL NOT block the event loop.
    """

    async def ensure_ready(self, *, create: bool = False) -> None:
        """SHALL refuse a storage that is not there (STORAGE_UNMARKED): a missing bucket, a directory without
        its marker, as an unmounted disk leaves one. With `create` SHALL make and mark it; nothing else does.
        SHALL remove the debris of dead writers from a disk and leave living ones alone; S3 hides unfinished
        uploads until a lifecycle rule of the bucket drops them.
        """
        ...

    async def holds_any(self, keys: Sequence[str]) -> bool:
        """Whether one of these objects is here, also where `ensure_ready` refuses."""
        ...

    async def close(self) -> None:
        """SHALL release connections; MAY be called twice."""
        ...

    async def put_bytes(
        self, key: str, data: bytes, *, content_type: str = DEFAULT_CONTENT_TYPE, if_absent: bool = False
    ) -> StoredObject:
        """SHALL be atomic and durable on return: a failed put leaves what was there before. Of concurrent
        puts one whole object SHALL remain. With `if_absent` an existing object SHALL stay (STORAGE_EXISTS);
        on S3 a retried put MAY meet its own first try that way.
        """
        ...

    async def put_stream(
        self,
        key: str,
        chunks: AsyncIterator[bytes],
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        max_bytes: int | None = None,
        sha256: str | None = None,
        if_absent: bool = False,
        approve: Approval | None = None,
    ) -> StoredObject:
        """As `put_bytes`, in bounded memory whatever the length. More than `max_bytes` (STORAGE_TOO_LARGE),
        bytes that do not hash to `sha256` (STORAGE_MISMATCH) and an error of `chunks` SHALL leave nothing
        behind. `approve` SHALL be asked once, when `chunks` has ended; the object SHALL appear only after it
        returned, and its error SHALL leave nothing behind. Meanwhile the bytes MAY be made durable, out of
        sight. Of long streams that end at once with `if_absent` more than one MAY win where the S3 server
        lets them (SeaweedFS does, AWS does not): who must be the only one asks the database first.
        """
        ...

    async def get_bytes(self, key: str, *, max_bytes: int) -> bytes:
        """SHALL return the whole object, checked against its hash when that is known (STORAGE_CORRUPT), or
        raise STORAGE_NOT_FOUND, or STORAGE_TOO_LARGE before reading more than `max_bytes`.
        """
        ...

    def get_stream(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """Bytes `start` to `end` (exclusive; None: to the end) in chunks of at most CHUNK_BYTES. A range
        past the end SHALL be cut, maybe to nothing. STORAGE_NOT_FOUND comes at the first chunk. All chunks
        SHALL be of one version of the object; a broken transfer SHALL raise, never end early. Close the
        iterator when leaving early (`contextlib.aclosing`).
        """
        ...

    async def stat(self, key: str) -> StoredObject:
        """SHALL raise STORAGE_NOT_FOUND for a missing object."""
        ...

    async def exists(self, key: str) -> bool: ...

    async def delete(self, key: str) -> None:
        """SHALL succeed when the object is gone, also when it never was."""
        ...

    async def list(
        self, prefix: str = "", *, limit: int = LIST_MAX, after: str = ""
    ) -> tuple[ListedObject, ...]:
        """Keys that begin with `prefix` and come after `after`, at most `limit` (1 to LIST_MAX). Fewer than
        `limit` means the end; otherwise go on with `after` = the last key. The order SHALL be the same in
        every call: byte order on disks and AWS, which MAY differ elsewhere (SeaweedFS goes by segments).
        """
        ...

    async def presign_get(self, key: str, *, ttl_seconds: int, filename: str | None = None) -> PresignedUrl:
        """A URL that downloads this object as `filename` for `ttl_seconds` (1 to PRESIGN_MAX_SECONDS). The
        object MAY not exist yet.
        """
        ...

    async def presign_put(
        self, key: str, *, ttl_seconds: int, content_type: str, size_bytes: int
    ) -> PresignedUrl:
        """A URL that takes one body of exactly `size_bytes` with exactly `content_type`. Exactly, because
        S3 can pin a length and has no upper bound for PUT. The upload SHALL be atomic too.
        """
        ...
