"""Who the browser runs as: ourselves, or under a root worker a user id that nothing else on the machine has."""

from __future__ import annotations

import os
import pwd
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quire.render.domain.errors import UnsupportedPlatformError

# The range systemd hands out to passing services: no package and no administrator creates accounts in it, and it is
# small enough for containers that map 65536 ids.
PASSING_IDS = range(61184, 65520)


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


def choose_account() -> Account:
    """One id a browser: two browsers, or a browser and a database, must not be able to trace each other."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    taken = {entry.pw_uid for entry in pwd.getpwall()} | _running_ids()
    free = [uid for uid in PASSING_IDS if uid not in taken]
    if not free:
        raise UnsupportedPlatformError("no free user id to run the browser as")
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
