"""The operating-system account Postgres runs as: ourselves, or one of its own when we are root."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from quire.kernel import UnavailableError
from quire.runtime.account import LASTING_IDS, NoFreeAccountError, free_account

# The operator made it for us.
DEDICATED_NAME = "quire"
# Has a name and no rights, and other daemons may run as it: good for no more than making a cluster.
SHARED_NAME = "nobody"


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
    """An existing cluster keeps its owner, unless that is shared with other programs; root picks an account that is
    Postgres' own; anyone else is itself."""
    if os.geteuid() != 0:
        return _own_account(cluster)
    if not cluster.exists():
        return _new_account()
    owner = cluster.stat()
    if owner.st_uid == 0:
        raise EmbeddedPostgresError(
            f"{cluster} belongs to root, and Postgres refuses to run as root; chown it"
        )
    return _new_account() if owner.st_uid == shared_account().uid else Account(owner.st_uid, owner.st_gid)


def maker_account(account: Account) -> Account:
    """Who runs `initdb`: it insists on an account with a name, and an id of our own choice has none."""
    return shared_account() if account.uid in LASTING_IDS else account


def shared_account() -> Account:
    """Releases before had all of a cluster's life spent as it, beside readers of foreign documents."""
    return _named(SHARED_NAME) or Account(65534, 65534)


def _new_account() -> Account:
    dedicated = _named(DEDICATED_NAME)
    if dedicated is not None:
        return dedicated
    try:
        free = free_account(LASTING_IDS)
    except NoFreeAccountError as error:
        raise EmbeddedPostgresError(f"{error}: create one with `useradd --system quire`") from None
    return Account(free.uid, free.gid)


def _named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


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
