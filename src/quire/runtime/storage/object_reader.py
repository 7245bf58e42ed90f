"""One stored object being read from the disk. Calls block; see `object_writer.py` for why there is a lock."""

from __future__ import annotations

import os
import threading

from quire.runtime.storage.backend import StoredObject
from quire.runtime.storage.disk_errors import disk_errors
from quire.runtime.storage.disk_tree import DiskTree
from quire.runtime.storage.errors import StorageCorruptError, StorageUnavailableError
from quire.runtime.storage.object_file import stored_object


class ObjectReader:
    def __init__(self, tree: DiskTree, key: str) -> None:
        self._tree = tree
        self._key = key
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._footed = False
        self._closed = False

    def stat(self) -> StoredObject:
        with self._lock, disk_errors():
            descriptor = self._opened()
            return stored_object(self._key, descriptor, footed=self._footed)

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Exactly `size_bytes`, which the caller knows to be there from `stat`."""
        data = b""
        with self._lock, disk_errors():
            # One pread gives 2 GB at most, and may give less than asked for.
            while len(data) < size_bytes:
                piece = os.pread(self._opened(), size_bytes - len(data), offset + len(data))
                if not piece:
                    raise StorageCorruptError("the object became shorter while it was read")
                data += piece
        return data

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _opened(self) -> int:
        if self._closed:
            raise StorageUnavailableError("the read was given up")
        if self._descriptor is None:
            self._descriptor, self._footed = self._tree.open_object(self._key)
        return self._descriptor
