"""Gives a cluster to another account: a new one from its maker, an old one from an account it shared with others.

No server runs on it then. Whoever has the old account may have put anything into it, so nothing is followed: links
lead nowhere, and what belongs to a third party stays theirs.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from quire.runtime.account import LASTING_IDS
from quire.runtime.embedded_postgres.account import Account, EmbeddedPostgresError


def take_over(cluster: Path, account: Account) -> None:
    """The directory itself comes last: a takeover that was interrupted is found at the next start and done again."""
    old = cluster.stat().st_uid
    if old == account.uid:
        return
    for _, directories, files, place in os.fwalk(cluster, follow_symlinks=False):
        for name in (*directories, *files):
            _give(name, place, old, account)
    os.chown(cluster, account.uid, account.gid, follow_symlinks=False)


def _give(name: str, place: int, old: int, account: Account) -> None:
    """Looked at and given by one handle, so that nothing can be exchanged in between. An id of our range is what an
    interrupted takeover left."""
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
    try:
        status = os.fstat(handle)
        if stat.S_ISLNK(status.st_mode):
            _refuse_to_leave_behind(name, place, old)
        elif status.st_uid == old or status.st_uid in LASTING_IDS:
            os.chown(f"/proc/self/fd/{handle}", account.uid, account.gid)
    finally:
        os.close(handle)


def _refuse_to_leave_behind(name: str, place: int, old: int) -> None:
    """A log or a tablespace on another disk: the server could not open it any more."""
    with contextlib.suppress(FileNotFoundError):
        if os.stat(name, dir_fd=place).st_uid == old:
            raise EmbeddedPostgresError(
                f"{name} in the cluster leads to files of user {old}, and links are not followed: "
                "`useradd --system quire`, then chown the cluster and these files to quire"
            )
