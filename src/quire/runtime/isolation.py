"""How a child process that reads what strangers wrote is shut in: no network, no rights, bounded memory and time.

Commands to start it with, and what it does to itself once its imports are done.
"""

from __future__ import annotations

import os
import resource

DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--no-new-privs", "--")
BARE_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}
NOBODY = 65534


def without_network() -> tuple[str, ...]:
    """An own network namespace with no interface up."""
    if os.geteuid() == 0:
        return ("unshare", "--net", "--")
    return ("unshare", "--user", "--map-current-user", "--net", "--")


def give_up_rights() -> None:
    """After the imports: nobody may not be able to read them."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def limit(kind: int, most: int, hard: int | None = None) -> None:
    """Never above what the process was already allowed."""
    _, ceiling = resource.getrlimit(kind)
    hard = most if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        most, hard = min(most, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (most, hard))
