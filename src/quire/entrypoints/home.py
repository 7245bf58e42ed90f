"""The data directory of one installation: its lock, its secret key, and the ready file that announces it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from quire.entrypoints.dsn import DSN_FILE
from quire.kernel import ConflictError, QuireError
from quire.runtime.storage.local_disk import EARLIER_NAME, NAME

API_URL_FILE = "api.url"
GATEWAY_URL_FILE = "gateway.url"


class AlreadyRunningError(ConflictError):
    code = "ALREADY_RUNNING"
    title = "Quire already runs in this data directory"


class DataDirError(QuireError):
    code = "DATA_DIR_UNUSABLE"
    title = "The data directory cannot be used"


class Home:
    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.postgres = self.root / "postgres"
        self.logs = self.root / "logs"
        self.admin_token = self.root / "admin.token"
        # While the embedded server runs, commands beside `quire up` find it here.
        self.dsn = self.root / DSN_FILE
        # And the API here, while it is ready.
        self.api_url = self.root / API_URL_FILE
        # And the gateway that `quire up` brought, while it runs.
        self.gateway_url = self.root / GATEWAY_URL_FILE

    @property
    def storage_url(self) -> str:
        """A disk that an operator mounted at the place of earlier releases stays in use."""
        earlier = self.root / EARLIER_NAME
        return f"file:{quote(str(earlier if earlier.is_mount() else self.root / NAME))}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One `quire up` a data directory; the kernel frees the lock however its holder ends."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.root / "up.lock").open("a+")
        except OSError as error:
            raise DataDirError(f"{self.root}: {error.strerror}; choose another with --data-dir") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyRunningError(self._holder(lock.fileno())) from None
            os.truncate(lock.fileno(), 0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield

    def _holder(self, descriptor: int) -> str:
        pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
        return f"pid {pid} runs in {self.root}; stop it first, or choose another --data-dir and --port"

    def secret_key(self) -> str:
        """Made once; signed URLs and encrypted secrets depend on it ever after."""
        path = self.root / "secret.key"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(48) + "\n")
        return path.read_text().strip()


@contextlib.contextmanager
def ready_file(path: Path | None) -> Iterator[Path | None]:
    """Absent before readiness and after the end, so that a script may wait for it to appear."""
    if path is not None:
        path.unlink(missing_ok=True)
    try:
        yield path
    finally:
        if path is not None:
            path.unlink(missing_ok=True)


def announce(path: Path, url: str, token: str) -> None:
    write_private(path, json.dumps({"url": url, "token": token}) + "\n")


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise DataDirError(f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
