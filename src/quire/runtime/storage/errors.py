"""What storage refuses or fails at. Details name the cause, never a path, a bucket or a credential."""

from __future__ import annotations

from quire.kernel import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    TooLargeError,
    UnavailableError,
)


class StorageKeyError(InvalidInputError):
    code = "STORAGE_KEY_INVALID"
    title = "The storage key is not valid"


class StorageArgumentError(InvalidInputError):
    code = "STORAGE_ARGUMENT_INVALID"
    title = "The storage request is not valid"


class StorageMismatchError(InvalidInputError):
    """The bytes that came are not the bytes that were announced; nothing was stored."""

    code = "STORAGE_MISMATCH"
    title = "The bytes differ from what was announced"


class StorageNotFoundError(NotFoundError):
    code = "STORAGE_NOT_FOUND"
    title = "No such object"


class StorageExistsError(ConflictError):
    code = "STORAGE_EXISTS"
    title = "The object exists already"


class StorageTooLargeError(TooLargeError):
    code = "STORAGE_TOO_LARGE"
    title = "The object is too large"


class StorageFullError(UnavailableError):
    code = "STORAGE_FULL"
    title = "The storage has no room left"


class StorageUnavailableError(UnavailableError):
    code = "STORAGE_UNAVAILABLE"
    title = "The storage cannot be reached"


class StorageUnmarkedError(StorageUnavailableError):
    """Not the storage of this installation as far as one can see: an unmounted disk, a mistyped place."""

    code = "STORAGE_UNMARKED"
    title = (
        "The storage is missing, or has no marker: mount it, or correct QUIRE_STORAGE_URL; where it is to be the "
        "storage from now on, run `quire storage init`"
    )

    def __init__(self, detail: str = "") -> None:
        super().__init__(f"{detail}. {self.title}" if detail else self.title)


class StorageRefusedError(UnavailableError):
    """The storage knows us not, or does not let us: a person has to change credentials or rights."""

    code = "STORAGE_REFUSED"
    title = "The storage refused our credentials"
    retryable = False


class StorageCorruptError(UnavailableError):
    """The stored bytes are not the ones that were put."""

    code = "STORAGE_CORRUPT"
    title = "The stored object is damaged"
    retryable = False


class StorageUrlError(ForbiddenError):
    """One answer for expired, changed and misused URLs, so that probing teaches nothing."""

    code = "STORAGE_URL_INVALID"
    title = "The storage URL has expired or was changed, or size or type are not what was signed"
