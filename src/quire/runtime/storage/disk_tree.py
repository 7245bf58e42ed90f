"""The directory tree of the local storage, walked by directory descriptors so that no symlink is ever
followed below the root. `objects/` holds the objects, `incoming/` what is being written. All calls block.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from quire.runtime.storage.backend import ListedObject
from quire.runtime.storage.errors import StorageUnavailableError
from quire.runtime.storage.object_file import FOOTER_BYTES

# Keys cannot hold this letter, so the object `a` and the directory of `a/b` never meet.
OBJECT_MARK = "@"
DIRECTORY_MODE = 0o700
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# A concurrent delete may prune a directory between making it and using it; it cannot do so for ever.
_PLACE_ATTEMPTS = 100


class DiskTree:
    def __init__(self, root: Path) -> None:
        self._objects = root / "objects"
        self._incoming = root / "incoming"

    def make(self) -> None:
        for directory in (self._objects, self._incoming):
            directory.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)

    @contextlib.contextmanager
    def incoming(self) -> Iterator[int]:
        with _opened(_ready(self._incoming)) as descriptor:
            yield descriptor

    @contextlib.contextmanager
    def parent_of(self, key: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The descriptor of the key's directory and the file's name in it."""
        *segments, last = key.split("/")
        with self._directory(segments, create=create) as descriptor:
            yield descriptor, last + OBJECT_MARK

    def publish(self, key: str, name: str, *, if_absent: bool) -> None:
        """Moves the finished file `name` from `incoming/` to its key, durably. Replaces, or refuses
        if_absent.
        """
        for attempt in range(1, _PLACE_ATTEMPTS + 1):
            try:
                self._place(key, name, if_absent=if_absent)
                return
            except FileNotFoundError:
                if attempt == _PLACE_ATTEMPTS:
                    raise

    def _place(self, key: str, name: str, *, if_absent: bool) -> None:
        with self.incoming() as source, self.parent_of(key, create=True) as (parent, file_name):
            if if_absent:
                os.link(name, file_name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
                os.unlink(name, dir_fd=source)
            else:
                os.replace(name, file_name, src_dir_fd=source, dst_dir_fd=parent)
            os.fsync(parent)

    def remove(self, key: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            with self.parent_of(key) as (parent, file_name):
                os.unlink(file_name, dir_fd=parent)
                os.fsync(parent)
            self._prune(key.split("/")[:-1])

    def _prune(self, segments: list[str]) -> None:
        """Empty directories go, or a tree of short-lived artifacts would grow for ever."""
        with contextlib.suppress(OSError):
            while segments:
                *above, last = segments
                with self._directory(above) as parent:
                    os.rmdir(last, dir_fd=parent)
                segments = above

    def sweep_incoming(self) -> int:
        """Removes what dead writers left. A living writer holds a lock on its file."""
        removed = 0
        with self.incoming() as directory:
            for name in os.listdir(directory):  # noqa: PTH208 (a descriptor has no path)
                with contextlib.suppress(FileNotFoundError, BlockingIOError):
                    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
                    with _opened(os.open(name, flags, dir_fd=directory)) as descriptor:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        os.unlink(name, dir_fd=directory)
                        removed += 1
        return removed

    def walk(self, prefix: str, after: str) -> Iterator[ListedObject]:
        with _opened(_ready(self._objects)) as descriptor:
            yield from _walk(descriptor, "", prefix, after)

    @contextlib.contextmanager
    def _directory(self, segments: Sequence[str], *, create: bool = False) -> Iterator[int]:
        descriptor = _ready(self._objects)
        try:
            for segment in segments:
                if create:
                    _make_directory(descriptor, segment)
                above, descriptor = (
                    descriptor,
                    os.open(segment, _DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor),
                )
                os.close(above)
            yield descriptor
        finally:
            os.close(descriptor)


def _walk(directory: int, base: str, prefix: str, after: str) -> Iterator[ListedObject]:
    """Byte order of whole keys: a directory sorts as `name/`, which is where its keys begin."""
    for path, name in _entries(directory, base):
        if path.endswith("/"):
            if _may_hold(path, prefix, after):
                with (
                    contextlib.suppress(OSError),
                    _opened(os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)) as below,
                ):
                    yield from _walk(below, path, prefix, after)
        elif path.startswith(prefix) and path > after:
            with contextlib.suppress(FileNotFoundError):
                yield _listed(path, os.stat(name, dir_fd=directory, follow_symlinks=False))


def _entries(directory: int, base: str) -> list[tuple[str, str]]:
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append((f"{base}{entry.name}/", entry.name))
            elif entry.is_file(follow_symlinks=False) and entry.name.endswith(OBJECT_MARK):
                found.append((base + entry.name.removesuffix(OBJECT_MARK), entry.name))
    return sorted(found)


def _may_hold(path: str, prefix: str, after: str) -> bool:
    fits = path.startswith(prefix) or prefix.startswith(path)
    return fits and (path > after or after.startswith(path))


def _listed(key: str, status: os.stat_result) -> ListedObject:
    size_bytes = max(0, status.st_size - FOOTER_BYTES)
    return ListedObject(key, size_bytes, datetime.fromtimestamp(status.st_mtime, UTC))


def _make_directory(parent: int, name: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, DIRECTORY_MODE, dir_fd=parent)
        # The new entry must outlive a power cut as surely as the object that goes below it.
        os.fsync(parent)


def _ready(path: Path) -> int:
    try:
        return os.open(path, _DIRECTORY)
    except FileNotFoundError:
        raise StorageUnavailableError("the storage directory does not exist") from None


@contextlib.contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
