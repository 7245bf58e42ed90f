"""The directory tree of the local storage, walked by directory descriptors so that no symlink is ever
followed below the root. An object is a plain file at its key; `.incoming/` holds what is being written. All
calls block.

`objects/` holds objects in the form of earlier releases, which are read and deleted there: a mark behind the
name, a footer behind the bytes. A key that is also the folder of other keys is still written that way, since
a file and a directory cannot share a name.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import heapq
import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from quire.runtime.storage.backend import ListedObject
from quire.runtime.storage.errors import StorageKeyError, StorageUnavailableError, StorageUnmarkedError
from quire.runtime.storage.keys import is_segment
from quire.runtime.storage.object_file import FOOTER_BYTES

# Says that this directory is the storage. An unmounted disk leaves an empty directory behind, without it.
MARKER = ".quire-storage"
INCOMING = ".incoming"
MARKED = "objects"
# Of earlier releases, in the same root. No key begins with them, nor with a dot.
_RESERVED = {MARKED, "incoming"}
# Keys cannot hold this letter, so the object `a` and the directory of `a/b` never meet.
OBJECT_MARK = "@"
DIRECTORY_MODE = 0o700
MARKER_TEXT = "This directory is the storage of a Quire installation. Without this file it is not used.\n"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: a pipe planted in the tree must not hang the thread.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# A concurrent delete may prune a directory between making it and using it; it cannot do so for ever.
_PLACE_ATTEMPTS = 100


class NameTakenError(Exception):
    """A file and a directory cannot share a name: the key has no place of its own among plain files."""


class DiskTree:
    def __init__(self, root: Path, before: Sequence[Path] = ()) -> None:
        """`before`: storages of earlier releases, of which only objects in their old form are read."""
        self._root = root
        self._marked = [root / MARKED, *(place / MARKED for place in before)]

    def make(self, *, create: bool) -> None:
        """Without `create` only what belongs into a storage that is there."""
        if create:
            self._root.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
            (self._root / MARKER).write_text(MARKER_TEXT, encoding="ascii")
            with _opened(_ready(self._root)) as root:
                os.fsync(root)
        with self.incoming():
            pass

    @contextlib.contextmanager
    def _opened_root(self) -> Iterator[int]:
        with _opened(_ready(self._root)) as descriptor:
            try:
                os.stat(MARKER, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:
                raise StorageUnmarkedError() from None
            yield descriptor

    @contextlib.contextmanager
    def incoming(self) -> Iterator[int]:
        with self._opened_root() as root:
            _make_directory(root, INCOMING)
            with _opened(os.open(INCOMING, _DIRECTORY | os.O_NOFOLLOW, dir_fd=root)) as descriptor:
                yield descriptor

    def open_object(self, key: str) -> tuple[int, bool]:
        """A descriptor for reading, and whether the file has a footer."""
        with contextlib.suppress(FileNotFoundError, NameTakenError):
            return self._open_plain(key), False
        return self._open_marked(key), True

    def holds(self, key: str) -> bool:
        """Also where the root has no marker."""
        with (
            contextlib.suppress(OSError, NameTakenError),
            _opened(os.open(self._root, _DIRECTORY)) as root,
            _below(root, key) as (parent, name),
        ):
            if stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                return True
        with contextlib.suppress(OSError, NameTakenError):
            os.close(self._open_marked(key))
            return True
        return False

    def _open_plain(self, key: str) -> int:
        with self._opened_root() as root, _below(root, _free(key)) as (parent, name):
            descriptor = os.open(name, _READ, dir_fd=parent)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FileNotFoundError(errno.ENOENT, "a folder of other keys")
        return descriptor

    def _open_marked(self, key: str) -> int:
        for place in self._marked:
            with (
                contextlib.suppress(FileNotFoundError),
                _opened(os.open(place, _DIRECTORY)) as root,
                _below(root, key) as (parent, name),
            ):
                return os.open(name + OBJECT_MARK, _READ, dir_fd=parent)
        raise FileNotFoundError(errno.ENOENT, "no such object")

    def publish(self, key: str, name: str, *, if_absent: bool) -> None:
        """Moves the finished file `name` from `.incoming/` to its key, durably. Replaces, or refuses
        if_absent. NameTakenError: there it can never be.
        """
        _free(key)
        if if_absent and self._is_marked(key):
            raise FileExistsError(errno.EEXIST, "it exists in its old form")
        self._place_surely(key, name, "", if_absent=if_absent)
        self._remove_marked(key)

    def publish_marked(self, key: str, name: str, *, if_absent: bool) -> None:
        """The same for a file with a footer, whose name is taken by the folder of other keys or lies in one."""
        with self._opened_root() as root:
            _make_directory(root, MARKED)
        self._place_surely(key, name, OBJECT_MARK, if_absent=if_absent)

    def _place_surely(self, key: str, name: str, mark: str, *, if_absent: bool) -> None:
        for attempt in range(1, _PLACE_ATTEMPTS + 1):
            try:
                self._place(key, name, mark, if_absent=if_absent)
                return
            except FileNotFoundError:
                if attempt == _PLACE_ATTEMPTS:
                    raise

    def _place(self, key: str, name: str, mark: str, *, if_absent: bool) -> None:
        path = f"{MARKED}/{key}" if mark else key
        with (
            self._opened_root() as root,
            self.incoming() as source,
            _below(root, path, create=True) as (parent, last),
        ):
            target = last + mark
            if _is_directory(parent, target):
                raise NameTakenError()
            if if_absent:
                os.link(name, target, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
                os.unlink(name, dir_fd=source)
            else:
                try:
                    os.replace(name, target, src_dir_fd=source, dst_dir_fd=parent)
                except IsADirectoryError:
                    raise NameTakenError() from None
            os.fsync(parent)

    def _is_marked(self, key: str) -> bool:
        try:
            os.close(self._open_marked(key))
        except FileNotFoundError:
            return False
        return True

    def remove(self, key: str) -> None:
        with self._opened_root() as root, contextlib.suppress(NameTakenError):
            _remove(root, _free(key), "")
        self._remove_marked(key)

    def _remove_marked(self, key: str) -> None:
        for place in self._marked:
            with contextlib.suppress(FileNotFoundError), _opened(os.open(place, _DIRECTORY)) as root:
                _remove(root, key, OBJECT_MARK)

    def sweep_incoming(self) -> int:
        """Removes what dead writers left. A living writer holds a lock on its file."""
        with self.incoming() as directory:
            removed = _sweep(directory)
        with (
            contextlib.suppress(FileNotFoundError),
            _opened(os.open(self._root / "incoming", _DIRECTORY)) as old,
        ):
            removed += _sweep(old)
        return removed

    def walk(self, prefix: str, after: str) -> Iterator[ListedObject]:
        """Byte order of whole keys; of a key in two forms the newer one, which is read."""
        with contextlib.ExitStack() as held:
            root = held.enter_context(self._opened_root())
            walks = [_walk(root, "", prefix, after, "")]
            for place in self._marked:
                with contextlib.suppress(FileNotFoundError):
                    old = held.enter_context(_opened(os.open(place, _DIRECTORY)))
                    walks.append(_walk(old, "", prefix, after, OBJECT_MARK))
            found = heapq.merge(*walks, key=attrgetter("key"))
            for _, same in itertools.groupby(found, key=attrgetter("key")):
                yield next(same)


def _free(key: str) -> str:
    if key.startswith(".") or key.split("/", 1)[0] in _RESERVED:
        raise StorageKeyError("on a disk no key begins with a dot, objects or incoming")
    return key


@contextlib.contextmanager
def _below(root: int, key: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """The descriptor of the key's directory and the file's name in it."""
    *segments, last = key.split("/")
    descriptor = os.dup(root)
    try:
        for segment in segments:
            if create:
                _make_directory(descriptor, segment)
            above, descriptor = descriptor, _enter(descriptor, segment)
            os.close(above)
        yield descriptor, last
    finally:
        os.close(descriptor)


def _enter(above: int, segment: str) -> int:
    try:
        return os.open(segment, _DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except NotADirectoryError:
        # A symlink leads astray; a file is the object of a shorter key.
        if stat.S_ISREG(os.stat(segment, dir_fd=above, follow_symlinks=False).st_mode):
            raise NameTakenError() from None
        raise


def _is_directory(parent: int, name: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    return False


def _remove(root: int, key: str, mark: str) -> None:
    with contextlib.suppress(FileNotFoundError, NameTakenError):
        with _below(root, key) as (parent, last):
            if not mark and _is_directory(parent, last):
                return
            os.unlink(last + mark, dir_fd=parent)
            os.fsync(parent)
        _prune(root, key.split("/")[:-1])


def _prune(root: int, segments: list[str]) -> None:
    """Empty directories go, or a tree of short-lived artifacts would grow for ever."""
    with contextlib.suppress(OSError, NameTakenError):
        while segments:
            with _below(root, "/".join(segments)) as (parent, last):
                os.rmdir(last, dir_fd=parent)
            segments = segments[:-1]


def _sweep(directory: int) -> int:
    removed = 0
    for name in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
            with _opened(os.open(name, flags, dir_fd=directory)) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(name, dir_fd=directory)
                removed += 1
    return removed


def _walk(directory: int, base: str, prefix: str, after: str, mark: str) -> Iterator[ListedObject]:
    """Byte order of whole keys: a directory sorts as `name/`, which is where its keys begin."""
    for path, name in _entries(directory, base, mark):
        if path.endswith("/"):
            if _may_hold(path, prefix, after):
                with (
                    contextlib.suppress(OSError),
                    _opened(os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)) as below,
                ):
                    yield from _walk(below, path, prefix, after, mark)
        elif path.startswith(prefix) and path > after:
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                yield _listed(path, status, FOOTER_BYTES if mark else 0)


def _entries(directory: int, base: str, mark: str) -> list[tuple[str, str]]:
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if not (base or mark) and (entry.name.startswith(".") or entry.name in _RESERVED):
                continue
            if entry.is_dir(follow_symlinks=False):
                if is_segment(entry.name):
                    found.append((f"{base}{entry.name}/", entry.name))
            elif entry.is_file(follow_symlinks=False) and entry.name.endswith(mark):
                name = entry.name.removesuffix(mark)
                if is_segment(name):
                    found.append((base + name, entry.name))
    return sorted(found)


def _may_hold(path: str, prefix: str, after: str) -> bool:
    fits = path.startswith(prefix) or prefix.startswith(path)
    return fits and (path > after or after.startswith(path))


def _listed(key: str, status: os.stat_result, footer_bytes: int) -> ListedObject:
    size_bytes = max(0, status.st_size - footer_bytes)
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
        raise StorageUnmarkedError("the storage directory does not exist") from None
    except NotADirectoryError:
        raise StorageUnavailableError(
            "a file is in the place of the storage directory: move it away, then bring the directory back"
        ) from None


@contextlib.contextmanager
def _opened(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
