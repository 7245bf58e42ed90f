"""Operating-system accounts of children when Quire runs as root: user ids that nothing else on the machine has.

Two processes with one user id can trace and signal each other and open each other's files, so each kind gets its own.
"""

from __future__ import annotations

import os
import pwd
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# The range systemd hands out to passing services: no package and no administrator creates accounts in it, and it is
# small enough for containers that map 65536 ids.
PASSING_IDS = range(61184, 65520)
# Just below, and used by no convention: for what owns files that stay, so that no passing process ever has its id.
LASTING_IDS = range(60706, 61184)


class NoFreeAccountError(Exception):
    """Every id of the range is taken."""


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int

    @property
    def is_own(self) -> bool:
        return self.uid == os.geteuid()

    def give(self, paths: Iterable[Path]) -> None:
        if not self.is_own:
            for path in paths:
                os.chown(path, self.uid, self.gid)


def own_account() -> Account:
    return Account(os.geteuid(), os.getegid())


def free_account(ids: range = PASSING_IDS) -> Account:
    taken = {entry.pw_uid for entry in pwd.getpwall()} | _running_ids()
    free = [uid for uid in ids if uid not in taken]
    if not free:
        raise NoFreeAccountError(f"every user id from {ids.start} to {ids.stop - 1} is taken")
    uid = random.choice(free)
    return Account(uid, uid)


def _running_ids() -> set[int]:
    owners = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                owners.add(entry.stat().st_uid)
            except FileNotFoundError:
                continue
    return owners
