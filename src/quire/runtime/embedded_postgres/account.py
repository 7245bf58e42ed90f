"""The operating-system account Postgres runs as: ourselves, or an unprivileged one when we are root."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from quire.kernel import UnavailableError

# A dedicated account is better, for `nobody` may own other daemons' files too.
PREFERRED_NAMES = ("quire", "nobody")


class EmbeddedPostgresError(UnavailableError):
    code = "EMBEDDED_POSTGRES_FAILED"
    title = "The embedded Postgres cannot run"
    retryable = False


class SwitchOptions(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int

    @property
    def is_own(self) -> bool:
        return self.uid == os.geteuid()

    def switch_options(self) -> SwitchOptions:
        """Arguments for `subprocess` that become this account after changing directory."""
        return {} if self.is_own else {"user": self.uid, "group": self.gid, "extra_groups": []}

    def give(self, path: Path) -> None:
        if not self.is_own:
            os.chown(path, self.uid, self.gid)

    def can_enter(self, directory: Path) -> bool:
        """Asks the kernel by trying, so that access lists and odd mounts count too."""
        if self.is_own:
            return True
        attempt = subprocess.run(["test", "-x", directory], check=False, **self.switch_options())
        return attempt.returncode == 0


def choose_account(cluster: Path) -> Account:
    """An existing cluster keeps its owner; root picks an unprivileged account; anyone else is itself."""
    if os.geteuid() != 0:
        return _own_account(cluster)
    if cluster.exists():
        owner = cluster.stat()
        if owner.st_uid == 0:
            raise EmbeddedPostgresError(
                f"{cluster} belongs to root, and Postgres refuses to run as root; chown it"
            )
        return Account(owner.st_uid, owner.st_gid)
    for name in PREFERRED_NAMES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError("no unprivileged account: create one with `useradd --system quire`")


def _own_account(cluster: Path) -> Account:
    own = Account(os.geteuid(), os.getegid())
    try:
        foreign = cluster.exists() and cluster.stat().st_uid != own.uid
    except PermissionError:
        foreign = True
    if foreign:
        raise EmbeddedPostgresError(
            f"{cluster} was made by another user; run as that user or choose another --data-dir"
        )
    return own
