"""Storage on a local disk. Every call to the disk runs in a thread; streams move one block at a time."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from quire.runtime.storage.arguments import (
    checked_content_type,
    checked_filename,
    checked_limit,
    checked_range,
    checked_size,
    checked_ttl,
)
from quire.runtime.storage.backend import (
    CHUNK_BYTES,
    DEFAULT_CONTENT_TYPE,
    LIST_MAX,
    Approval,
    ListedObject,
    PresignedUrl,
    StoredObject,
)
from quire.runtime.storage.disk_errors import disk_errors
from quire.runtime.storage.disk_tree import DiskTree
from quire.runtime.storage.errors import StorageCorruptError, StorageNotFoundError, StorageTooLargeError
from quire.runtime.storage.keys import checked_key, checked_prefix
from quire.runtime.storage.object_reader import ObjectReader
from quire.runtime.storage.object_writer import ObjectWriter
from quire.runtime.storage.signed_url import UrlClaim, UrlSigner
from quire.runtime.storage.streams import at_most, in_blocks

# The storage in a data directory, and what earlier releases called it: their objects are read there.
NAME = "artifacts"
EARLIER_NAME = "storage"


class LocalDiskStorage:
    def __init__(self, root: Path, signer: UrlSigner) -> None:
        # Absolute at once: a later chdir must not move the storage.
        root = root.absolute()
        self._tree = DiskTree(root, [root.parent / EARLIER_NAME] if root.name == NAME else [])
        self._signer = signer

    async def ensure_ready(self, *, create: bool = False) -> None:
        await asyncio.to_thread(_make_ready, self._tree, create)

    async def holds_any(self, keys: Sequence[str]) -> bool:
        return await asyncio.to_thread(lambda: any(self._tree.holds(checked_key(key)) for key in keys))

    async def close(self) -> None:
        """Nothing is held between calls."""

    async def put_bytes(
        self, key: str, data: bytes, *, content_type: str = DEFAULT_CONTENT_TYPE, if_absent: bool = False
    ) -> StoredObject:
        checked_key(key)
        checked_content_type(content_type)
        return await asyncio.to_thread(_put, self._tree, key, data, content_type, if_absent)

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
        checked_key(key)
        checked_content_type(content_type)
        writer = ObjectWriter(self._tree)
        try:
            async for block in in_blocks(at_most(chunks, max_bytes), CHUNK_BYTES):
                await asyncio.to_thread(writer.write, block)
            # The disk is slow enough to be asked for its part before the answer is known.
            synced = asyncio.to_thread(writer.sync, content_type, sha256)
            await asyncio.gather(synced, *([approve()] if approve else []))
            return await asyncio.to_thread(writer.publish, key, if_absent=if_absent)
        finally:
            await asyncio.to_thread(writer.close)

    async def get_bytes(self, key: str, *, max_bytes: int) -> bytes:
        checked_key(key)
        return await asyncio.to_thread(_get, self._tree, key, max_bytes)

    async def get_stream(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        checked_key(key)
        checked_range(start, end)
        reader = ObjectReader(self._tree, key)
        try:
            size_bytes = (await asyncio.to_thread(reader.stat)).size_bytes
            stop = size_bytes if end is None else min(end, size_bytes)
            for offset in range(start, stop, CHUNK_BYTES):
                yield await asyncio.to_thread(reader.read, offset, min(CHUNK_BYTES, stop - offset))
        finally:
            await asyncio.to_thread(reader.close)

    async def stat(self, key: str) -> StoredObject:
        checked_key(key)
        return await asyncio.to_thread(_stat, self._tree, key)

    async def exists(self, key: str) -> bool:
        try:
            await self.stat(key)
        except StorageNotFoundError:
            return False
        return True

    async def delete(self, key: str) -> None:
        checked_key(key)
        await asyncio.to_thread(_delete, self._tree, key)

    async def list(
        self, prefix: str = "", *, limit: int = LIST_MAX, after: str = ""
    ) -> tuple[ListedObject, ...]:
        checked_prefix(prefix)
        checked_prefix(after)
        checked_limit(limit)
        return await asyncio.to_thread(_list, self._tree, prefix, limit, after)

    async def presign_get(self, key: str, *, ttl_seconds: int, filename: str | None = None) -> PresignedUrl:
        expires = self._signer.expiry(checked_ttl(ttl_seconds))
        claim = UrlClaim("GET", checked_key(key), expires, name=checked_filename(filename) or "")
        return PresignedUrl("GET", self._signer.url(claim), {}, claim.expires_at)

    async def presign_put(
        self, key: str, *, ttl_seconds: int, content_type: str, size_bytes: int
    ) -> PresignedUrl:
        expires = self._signer.expiry(checked_ttl(ttl_seconds))
        claim = UrlClaim(
            "PUT", checked_key(key), expires, checked_content_type(content_type), checked_size(size_bytes)
        )
        headers = {"Content-Type": content_type, "Content-Length": str(size_bytes)}
        return PresignedUrl("PUT", self._signer.url(claim), headers, claim.expires_at)


def _make_ready(tree: DiskTree, create: bool) -> None:
    with disk_errors():
        tree.make(create=create)
        tree.sweep_incoming()


def _put(tree: DiskTree, key: str, data: bytes, content_type: str, if_absent: bool) -> StoredObject:
    writer = ObjectWriter(tree)
    try:
        writer.write(data)
        writer.sync(content_type, None)
        return writer.publish(key, if_absent=if_absent)
    finally:
        writer.close()


def _get(tree: DiskTree, key: str, max_bytes: int) -> bytes:
    reader = ObjectReader(tree, key)
    try:
        stored = reader.stat()
        if stored.size_bytes > max_bytes:
            raise StorageTooLargeError(f"more than {max_bytes} bytes")
        data = reader.read(0, stored.size_bytes)
    finally:
        reader.close()
    if stored.sha256 is not None and hashlib.sha256(data).hexdigest() != stored.sha256:
        raise StorageCorruptError("the object's bytes have another sha256")
    return data


def _stat(tree: DiskTree, key: str) -> StoredObject:
    reader = ObjectReader(tree, key)
    try:
        return reader.stat()
    finally:
        reader.close()


def _delete(tree: DiskTree, key: str) -> None:
    with disk_errors():
        tree.remove(key)


def _list(tree: DiskTree, prefix: str, limit: int, after: str) -> tuple[ListedObject, ...]:
    with disk_errors():
        return tuple(itertools.islice(tree.walk(prefix, after), limit))
