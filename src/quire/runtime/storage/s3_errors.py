"""One table from what S3 and its client say to what storage says. Buckets, hosts and credentials stay out
of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import aiohttp
from botocore.exceptions import BotoCoreError, ClientError

from quire.kernel import QuireError
from quire.runtime.storage.errors import (
    StorageExistsError,
    StorageFullError,
    StorageNotFoundError,
    StorageRefusedError,
    StorageTooLargeError,
    StorageUnavailableError,
)

_BY_CODE: dict[str, type[QuireError]] = {
    "NoSuchBucket": StorageUnavailableError,
    "NoSuchUpload": StorageUnavailableError,
    "ConditionalRequestConflict": StorageExistsError,
    "EntityTooLarge": StorageTooLargeError,
    "QuotaExceeded": StorageFullError,
    "XMinioStorageFull": StorageFullError,
    # The server tells a wrong clock apart from a wrong secret by these only.
    "RequestTimeTooSkewed": StorageRefusedError,
}
_BY_STATUS: dict[int, type[QuireError]] = {
    401: StorageRefusedError,
    403: StorageRefusedError,
    404: StorageNotFoundError,
    412: StorageExistsError,
    507: StorageFullError,
}


@contextlib.contextmanager
def s3_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise translated(error) from None
    except (BotoCoreError, aiohttp.ClientError, OSError, TimeoutError) as error:
        raise StorageUnavailableError(f"S3: {type(error).__name__}") from None


def translated(error: ClientError) -> QuireError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    family = _BY_CODE.get(code) or _BY_STATUS.get(status_of(error), StorageUnavailableError)
    if family in {StorageUnavailableError, StorageRefusedError}:
        return family(f"S3 answered {code or status_of(error)}")
    return family()


def status_of(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
