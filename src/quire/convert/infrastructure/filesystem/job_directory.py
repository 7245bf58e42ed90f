"""One directory of plain files `{job_id}{suffix}`. All calls block and run in threads. No other name is ever built,
read or followed: what a client calls its file never comes here."""

from __future__ import annotations

import contextlib
import heapq
import os
import stat
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from quire.convert.domain.kept_file import KeptFile
from quire.runtime.storage import StorageUnavailableError
from quire.runtime.storage.disk_errors import disk_errors

FILE_MODE = 0o640
PART = ".part"
# Far longer than any call that writes one.
PART_DEAD_SECONDS = 24 * 3600.0


class JobDirectory:
    def __init__(self, root: Path, suffix: str, setting: str) -> None:
        """`setting`: what names it, for whoever has to mend it."""
        # Absolute at once: a later chdir must not move it.
        self.root = root.absolute()
        self._suffix = suffix
        self._setting = setting

    def path_of(self, job_id: UUID) -> Path:
        return self.root / f"{job_id}{self._suffix}"

    def part_of(self, job_id: UUID, mark: str) -> Path:
        return self.root / f".{job_id}.{mark}{PART}"

    def make(self) -> None:
        """Also removes what dead writers left."""
        with disk_errors(), self._own_errors():
            self.root.mkdir(mode=0o750, parents=True, exist_ok=True)
            for part in self.root.glob(f".*{PART}"):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - part.lstat().st_mtime > PART_DEAD_SECONDS:
                        part.unlink()

    @contextlib.contextmanager
    def _own_errors(self) -> Iterator[None]:
        """What is wrong with the directory itself is said of it, and not of a file in it."""
        try:
            yield
        except (NotADirectoryError, FileExistsError):
            if self.root.is_dir():
                raise
            raise StorageUnavailableError(
                f"{self._setting} is not a directory: a file is in its place. Move that away, then make the directory "
                "again and let the process write to it"
            ) from None

    def create(self, part: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with disk_errors(), self._own_errors():
            return os.open(part, flags, FILE_MODE)

    def publish(self, descriptor: int, part: Path, job_id: UUID, size_bytes: int) -> Path:
        """Bytes safe and all there, then the name, then the name safe; and another look at what bears it."""
        target = self.path_of(job_id)
        with disk_errors(), self._own_errors():
            os.fsync(descriptor)
            _check_size(os.fstat(descriptor), size_bytes)
            part.replace(target)
            _sync_directory(self.root)
            try:
                _check_size(target.lstat(), size_bytes)
            except StorageUnavailableError:
                _remove(target, descriptor)
                raise
        return target

    def open(self, job_id: UUID) -> int:
        with disk_errors(), self._own_errors():
            descriptor = os.open(self.path_of(job_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise StorageUnavailableError("the file is no regular file")
            return descriptor

    def size_bytes(self, job_id: UUID) -> int:
        with disk_errors(), self._own_errors():
            return self.path_of(job_id).lstat().st_size

    def delete(self, job_id: UUID) -> None:
        with disk_errors(), self._own_errors():
            self.path_of(job_id).unlink(missing_ok=True)

    def page(self, after: UUID | None, limit: int) -> Sequence[KeptFile]:
        """Looks at every name, keeps `limit`: a directory may hold more than memory should."""
        with disk_errors(), self._own_errors():
            found = (file for file in self._files() if after is None or file.job_id > after)
            return heapq.nsmallest(limit, found, key=lambda file: file.job_id)

    def _files(self) -> Iterator[KeptFile]:
        with os.scandir(self.root) as entries:
            for entry in entries:
                with contextlib.suppress(ValueError, FileNotFoundError):
                    job_id = UUID(entry.name.removesuffix(self._suffix))
                    if entry.name == f"{job_id}{self._suffix}":
                        modified = entry.stat(follow_symlinks=False).st_mtime
                        yield KeptFile(job_id, datetime.fromtimestamp(modified, UTC))


def _check_size(found: os.stat_result, size_bytes: int) -> None:
    if found.st_size != size_bytes:
        raise StorageUnavailableError("the disk kept another number of bytes than was written")


def _remove(target: Path, descriptor: int) -> None:
    """Only what we put there: another worker's file may have taken the place of ours."""
    if os.path.samestat(target.lstat(), os.fstat(descriptor)):
        target.unlink()


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
