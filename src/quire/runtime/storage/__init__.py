"""Front door of storage: whole objects under keys, on a local disk or in S3, behind one port."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Mapping

from quire.runtime.settings import Settings
from quire.runtime.storage.backend import (
    CHUNK_BYTES,
    DEFAULT_CONTENT_TYPE,
    LIST_MAX,
    ListedObject,
    PresignedUrl,
    StorageBackend,
    StoredObject,
)
from quire.runtime.storage.errors import (
    StorageArgumentError,
    StorageCorruptError,
    StorageExistsError,
    StorageFullError,
    StorageKeyError,
    StorageMismatchError,
    StorageNotFoundError,
    StorageRefusedError,
    StorageTooLargeError,
    StorageUnavailableError,
    StorageUnmarkedError,
    StorageUrlError,
)
from quire.runtime.storage.keys import checked_key
from quire.runtime.storage.local_disk import LocalDiskStorage
from quire.runtime.storage.location import DiskLocation, S3Location, parse_location
from quire.runtime.storage.proof import StorageProof, prove_storage
from quire.runtime.storage.signed_url import UrlSigner


def url_signer(settings: Settings, public_url: str = "") -> UrlSigner:
    """`public_url` is for a server that learns its port only when it starts."""
    base = public_url or settings.public_url or f"http://{settings.host}:{settings.port}"
    accepted = settings.secret_key_accepted.get_secret_value()
    return UrlSigner(settings.secret_key.get_secret_value(), base, accepted=accepted)


@contextlib.asynccontextmanager
async def open_storage(
    settings: Settings, *, signer: UrlSigner | None = None, environment: Mapping[str, str] | None = None
) -> AsyncIterator[StorageBackend]:
    """Opens what `QUIRE_STORAGE_URL` names and closes it on the way out. Call `ensure_ready()` once at
    start.
    """
    location = parse_location(settings.storage_url)
    backend: StorageBackend
    if isinstance(location, DiskLocation):
        backend = LocalDiskStorage(location.root, signer or url_signer(settings))
    else:
        # Here, because its libraries take over a second to load and a local installation never needs them.
        from quire.runtime.storage.s3 import S3Storage

        backend = await S3Storage.open(location, os.environ if environment is None else environment)
    try:
        yield backend
    finally:
        await backend.close()


__all__ = [
    "CHUNK_BYTES",
    "DEFAULT_CONTENT_TYPE",
    "LIST_MAX",
    "DiskLocation",
    "ListedObject",
    "LocalDiskStorage",
    "PresignedUrl",
    "S3Location",
    "StorageArgumentError",
    "StorageBackend",
    "StorageCorruptError",
    "StorageExistsError",
    "StorageFullError",
    "StorageKeyError",
    "StorageMismatchError",
    "StorageNotFoundError",
    "StorageProof",
    "StorageRefusedError",
    "StorageTooLargeError",
    "StorageUnavailableError",
    "StorageUnmarkedError",
    "StorageUrlError",
    "StoredObject",
    "UrlSigner",
    "checked_key",
    "open_storage",
    "parse_location",
    "prove_storage",
    "url_signer",
]
