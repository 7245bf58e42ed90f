"""One multipart upload: parts with checksums, then one completion that makes the object visible, or an
abort.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import AsyncIterator
from typing import Any

from quire.kernel import QuireError
from quire.runtime.storage.backend import Approval
from quire.runtime.storage.errors import StorageMismatchError
from quire.runtime.storage.s3_errors import s3_errors

# Ten thousand parts of this are 80 GB; the memory of one upload is about two of them.
PART_BYTES = 8 * 1024 * 1024


class S3Upload:
    def __init__(self, client: Any, target: dict[str, object]) -> None:
        self._client = client
        self._target = dict(target)
        self._hash = hashlib.sha256()
        self._parts: list[dict[str, object]] = []
        self.size_bytes = 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    async def run(
        self,
        blocks: AsyncIterator[bytes],
        *,
        options: dict[str, object],
        sha256: str | None,
        if_absent: bool,
        approve: Approval | None,
    ) -> str:
        """The new object's etag. Whatever goes wrong on the way, the parts are given up."""
        with s3_errors():
            begun = await self._client.create_multipart_upload(
                **self._target, ChecksumAlgorithm="SHA256", **options
            )
        self._target["UploadId"] = begun["UploadId"]
        try:
            async for block in blocks:
                await self._send(block)
            if sha256 is not None and sha256 != self.sha256:
                raise StorageMismatchError("the bytes have another sha256")
            if approve is not None:
                await approve()
            return await self._complete(if_absent)
        except BaseException:
            await self._abort()
            raise

    async def _send(self, block: bytes) -> None:
        number = len(self._parts) + 1
        part_checksum = checksum(await asyncio.to_thread(hashlib.sha256, block))
        await asyncio.to_thread(self._hash.update, block)
        with s3_errors():
            sent = await self._client.upload_part(
                **self._target, PartNumber=number, Body=block, ChecksumSHA256=part_checksum
            )
        self._parts.append({"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": part_checksum})
        self.size_bytes += len(block)

    async def _complete(self, if_absent: bool) -> str:
        condition = {"IfNoneMatch": "*"} if if_absent else {}
        with s3_errors():
            done = await self._client.complete_multipart_upload(
                **self._target, MultipartUpload={"Parts": self._parts}, **condition
            )
        return str(done["ETag"])

    async def _abort(self) -> None:
        """Shielded, for a cancelled upload has to be given up too. If this fails the parts stay invisible."""
        with contextlib.suppress(QuireError):
            await asyncio.shield(self._abort_now())

    async def _abort_now(self) -> None:
        with s3_errors():
            await self._client.abort_multipart_upload(**self._target)


def checksum(digest: hashlib._Hash) -> str:
    """As the header x-amz-checksum-sha256 has it."""
    return base64.b64encode(digest.digest()).decode()
