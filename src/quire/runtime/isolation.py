"""How a child process that reads what strangers wrote is shut in: no network, no rights, bounded memory and time.

Commands to start it with, and what it does to itself once its imports are done.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal

from quire.runtime.account import free_account

DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--no-new-privs", "--")
SET_DEATH_SIGNAL = 1
BARE_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


def without_network() -> tuple[str, ...]:
    """An own network namespace with no interface up."""
    if os.geteuid() == 0:
        return ("unshare", "--net", "--")
    return ("unshare", "--user", "--map-current-user", "--net", "--")


def give_up_rights() -> None:
    """After the imports: the new user may not be able to read them. Its id is nobody else's, so that it can neither
    signal another process nor open its files."""
    if os.geteuid() == 0:
        account = free_account()
        os.setgroups([])
        os.setresgid(account.gid, account.gid, account.gid)
        os.setresuid(account.uid, account.uid, account.uid)
        # The kernel forgets the death signal whenever a process changes who it is.
        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def limit(kind: int, most: int, hard: int | None = None) -> None:
    """Never above what the process was already allowed."""
    _, ceiling = resource.getrlimit(kind)
    hard = most if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        most, hard = min(most, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (most, hard))
