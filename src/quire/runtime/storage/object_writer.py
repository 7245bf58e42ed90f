"""One object on its way to the disk. All calls block and run in threads.

A cancelled task leaves its thread running, so each object here opens its file late and guards it with a
lock: closing waits for the call under way, and a call that comes too late finds it closed instead of
somebody else's descriptor.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import threading
from dataclasses import replace

from quire.kernel import new_uuid7
from quire.runtime.storage.backend import StoredObject
from quire.runtime.storage.disk_errors import disk_errors
from quire.runtime.storage.disk_tree import DiskTree, NameTakenError
from quire.runtime.storage.errors import StorageMismatchError, StorageUnavailableError
from quire.runtime.storage.object_file import Description, stored_object, write_description

FILE_MODE = 0o600


class ObjectWriter:
    def __init__(self, tree: DiskTree) -> None:
        self._tree = tree
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._closed = False
        self._name = ""
        self._hash = hashlib.sha256()
        self._size_bytes = 0
        self._description: Description | None = None

    def write(self, block: bytes) -> None:
        with self._lock, disk_errors():
            _write_all(self._opened(), block)
            self._hash.update(block)
            self._size_bytes += len(block)

    def sync(self, content_type: str, sha256: str | None) -> None:
        """Description, size check, fsync: nothing can be written after it, and nobody sees it yet."""
        with self._lock, disk_errors():
            descriptor = self._opened()
            description = Description(content_type, self._hash.hexdigest(), self._size_bytes)
            if sha256 is not None and sha256 != description.sha256:
                raise StorageMismatchError("the bytes have another sha256")
            write_description(descriptor, description)
            if os.fstat(descriptor).st_size != self._size_bytes:
                raise StorageUnavailableError("the disk kept fewer bytes than were written")
            os.fsync(descriptor)
            self._description = description

    def publish(self, key: str, *, if_absent: bool) -> StoredObject:
        """The rename: the object is visible only after all of its bytes are safe."""
        with self._lock, disk_errors():
            assert self._description is not None  # `sync` comes first
            stored = replace(
                stored_object(key, self._opened(), footed=False),
                sha256=self._description.sha256,
                content_type=self._description.content_type,
            )
            try:
                self._tree.publish(key, self._name, if_absent=if_absent)
            except NameTakenError:
                self._publish_marked(key, self._description, if_absent=if_absent)
            self._name = ""
            return stored

    def _publish_marked(self, key: str, description: Description, *, if_absent: bool) -> None:
        """With its footer: there is no plain place for it."""
        descriptor = self._opened()
        _write_all(descriptor, description.footer())
        os.fsync(descriptor)
        self._tree.publish_marked(key, self._name, if_absent=if_absent)

    def close(self) -> None:
        """Drops what was not published."""
        with self._lock:
            self._closed = True
            if self._descriptor is None:
                return
            if self._name:
                with (
                    contextlib.suppress(OSError, StorageUnavailableError),
                    self._tree.incoming() as directory,
                ):
                    os.unlink(self._name, dir_fd=directory)
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._closed:
            raise StorageUnavailableError("the write was given up")
        if self._descriptor is None:
            self._name, self._descriptor = _create_locked(self._tree)
        return self._descriptor


def _create_locked(tree: DiskTree) -> tuple[str, int]:
    """A sweep may catch the file between its making and its lock; then there is no link left, and we make
    another.
    """
    while True:
        name = str(new_uuid7())
        with tree.incoming() as directory:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(name, flags, FILE_MODE, dir_fd=directory)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return name, descriptor
        os.close(descriptor)


def _write_all(descriptor: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(descriptor, view) :]
