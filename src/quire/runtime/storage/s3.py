"""Storage in a bucket of S3 or of a server that speaks its protocol."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError

from quire.kernel import Clock, SystemClock
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
from quire.runtime.storage.content_disposition import attachment
from quire.runtime.storage.errors import (
    StorageCorruptError,
    StorageMismatchError,
    StorageNotFoundError,
    StorageTooLargeError,
    StorageUnmarkedError,
)
from quire.runtime.storage.keys import checked_key, checked_prefix
from quire.runtime.storage.location import DEFAULT_REGION, S3Location
from quire.runtime.storage.s3_client import s3_client
from quire.runtime.storage.s3_errors import s3_errors, status_of
from quire.runtime.storage.s3_upload import PART_BYTES, S3Upload, checksum
from quire.runtime.storage.streams import at_most, in_blocks, prepended

_SHA256_FIELD = "quire-sha256"


class S3Storage:
    def __init__(
        self,
        location: S3Location,
        client: Any,
        presigner: Any,
        held: contextlib.AsyncExitStack,
        clock: Clock,
    ) -> None:
        self._location = location
        self._client = client
        self._presigner = presigner
        self._held = held
        self._clock = clock

    @classmethod
    async def open(
        cls,
        location: S3Location,
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> S3Storage:
        """Connects to nothing yet."""
        held = contextlib.AsyncExitStack()
        names = os.environ if environment is None else environment
        client = presigner = await held.enter_async_context(s3_client(location, names))
        if location.public:
            # The host is part of the signature, so a URL for clients is signed for the host that they ask.
            outside = dataclasses.replace(location, endpoint=location.public)
            presigner = await held.enter_async_context(s3_client(outside, names))
        return cls(location, client, presigner, held, clock or SystemClock())

    async def ensure_ready(self, *, create: bool = False) -> None:
        """A bucket has no marker: it does not become an empty one by being unmounted."""
        with s3_errors():
            try:
                await self._client.head_bucket(Bucket=self._location.bucket)
            except ClientError as error:
                if status_of(error) != 404:
                    raise
                if not create:
                    raise StorageUnmarkedError("S3 answered NoSuchBucket") from None
                await self._make_bucket()

    async def holds_any(self, keys: Sequence[str]) -> bool:
        for key in keys:
            with contextlib.suppress(StorageCorruptError):
                if await self.exists(key):
                    return True
        return False

    async def close(self) -> None:
        await self._held.aclose()

    async def put_bytes(
        self, key: str, data: bytes, *, content_type: str = DEFAULT_CONTENT_TYPE, if_absent: bool = False
    ) -> StoredObject:
        target = self._target(key)
        digest = await asyncio.to_thread(hashlib.sha256, data)
        condition = {"IfNoneMatch": "*"} if if_absent else {}
        with s3_errors():
            done = await self._client.put_object(
                **target,
                **_described(content_type, digest.hexdigest()),
                **condition,
                Body=data,
                ChecksumSHA256=checksum(digest),
            )
        return self._stored(key, len(data), digest.hexdigest(), done["ETag"], content_type)

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
        target = self._target(key)
        options = _described(content_type, sha256)
        blocks = in_blocks(at_most(chunks, max_bytes), PART_BYTES)
        first = await anext(blocks, b"")
        if len(first) < PART_BYTES:
            if sha256 is not None and sha256 != hashlib.sha256(first).hexdigest():
                raise StorageMismatchError("the bytes have another sha256")
            if approve is not None:
                await approve()
            return await self.put_bytes(key, first, content_type=content_type, if_absent=if_absent)
        upload = S3Upload(self._client, target)
        etag = await upload.run(
            prepended(first, blocks), options=options, sha256=sha256, if_absent=if_absent, approve=approve
        )
        return self._stored(key, upload.size_bytes, upload.sha256, etag, content_type)

    async def get_bytes(self, key: str, *, max_bytes: int) -> bytes:
        with s3_errors():
            answer = await self._client.get_object(**self._target(key))
            async with answer["Body"] as body:
                if answer["ContentLength"] > max_bytes:
                    raise StorageTooLargeError(f"more than {max_bytes} bytes")
                data: bytes = await body.read()
        sha256 = answer["Metadata"].get(_SHA256_FIELD)
        if sha256 and (await asyncio.to_thread(hashlib.sha256, data)).hexdigest() != sha256:
            raise StorageCorruptError("the object's bytes have another sha256")
        return data

    async def get_stream(self, key: str, *, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        checked_range(start, end)
        target = self._target(key)
        if end == start:
            await self.stat(key)
            return
        with s3_errors():
            try:
                answer = await self._client.get_object(**target, **_range(start, end))
            except ClientError as error:
                if status_of(error) == 416:
                    return
                raise
            async with answer["Body"] as body:
                async for chunk in body.iter_chunks(CHUNK_BYTES):
                    yield chunk

    async def stat(self, key: str) -> StoredObject:
        with s3_errors():
            found = await self._client.head_object(**self._target(key))
        return StoredObject(
            key=key,
            size_bytes=found["ContentLength"],
            sha256=found["Metadata"].get(_SHA256_FIELD),
            etag=found["ETag"].strip('"'),
            content_type=found.get("ContentType", DEFAULT_CONTENT_TYPE),
            modified_at=found["LastModified"],
        )

    async def exists(self, key: str) -> bool:
        try:
            await self.stat(key)
        except StorageNotFoundError:
            return False
        return True

    async def delete(self, key: str) -> None:
        with contextlib.suppress(StorageNotFoundError), s3_errors():
            await self._client.delete_object(**self._target(key))

    async def list(
        self, prefix: str = "", *, limit: int = LIST_MAX, after: str = ""
    ) -> tuple[ListedObject, ...]:
        root = self._location.prefix
        checked_prefix(after)
        with s3_errors():
            page = await self._client.list_objects_v2(
                Bucket=self._location.bucket,
                Prefix=root + checked_prefix(prefix),
                MaxKeys=checked_limit(limit),
                StartAfter=root + after,
            )
        return tuple(
            ListedObject(item["Key"].removeprefix(root), item["Size"], item["LastModified"])
            for item in page.get("Contents", ())
        )

    async def presign_get(self, key: str, *, ttl_seconds: int, filename: str | None = None) -> PresignedUrl:
        options = {"ResponseContentDisposition": attachment(checked_filename(filename))}
        return await self._presign("get_object", "GET", self._target(key) | options, ttl_seconds, {})

    async def presign_put(
        self, key: str, *, ttl_seconds: int, content_type: str, size_bytes: int
    ) -> PresignedUrl:
        pinned = {
            "ContentType": checked_content_type(content_type),
            "ContentLength": checked_size(size_bytes),
        }
        headers = {"Content-Type": content_type, "Content-Length": str(size_bytes)}
        return await self._presign("put_object", "PUT", self._target(key) | pinned, ttl_seconds, headers)

    async def _presign(
        self,
        operation: str,
        method: str,
        params: dict[str, object],
        ttl_seconds: int,
        headers: dict[str, str],
    ) -> PresignedUrl:
        expires_at = self._clock.now() + timedelta(seconds=checked_ttl(ttl_seconds))
        with s3_errors():
            url = await self._presigner.generate_presigned_url(
                operation, Params=params, ExpiresIn=ttl_seconds
            )
        return PresignedUrl(method, url, headers, expires_at)

    async def _make_bucket(self) -> None:
        region = self._location.region
        # The one region that S3 does not let one name.
        place = {} if region == DEFAULT_REGION else {"LocationConstraint": region}
        options = {"CreateBucketConfiguration": place} if place else {}
        await self._client.create_bucket(Bucket=self._location.bucket, **options)

    def _target(self, key: str) -> dict[str, object]:
        return {"Bucket": self._location.bucket, "Key": self._location.prefix + checked_key(key)}

    def _stored(self, key: str, size_bytes: int, sha256: str, etag: str, content_type: str) -> StoredObject:
        return StoredObject(key, size_bytes, sha256, etag.strip('"'), content_type, self._clock.now())


def _described(content_type: str, sha256: str | None) -> dict[str, object]:
    return {
        "ContentType": checked_content_type(content_type),
        "Metadata": {_SHA256_FIELD: sha256} if sha256 else {},
    }


def _range(start: int, end: int | None) -> dict[str, str]:
    if start == 0 and end is None:
        return {}
    return {"Range": f"bytes={start}-{'' if end is None else end - 1}"}
