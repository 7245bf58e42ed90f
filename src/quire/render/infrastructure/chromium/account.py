"""Who the browser runs as: ourselves, or under a root worker a user id that nothing else on the machine has."""

from __future__ import annotations

import os

from quire.render.domain.errors import UnsupportedPlatformError
from quire.runtime.account import Account, NoFreeAccountError, free_account, own_account


def choose_account() -> Account:
    """One id a browser: two browsers, or a browser and a database, must not be able to trace each other."""
    if os.geteuid() != 0:
        return own_account()
    try:
        return free_account()
    except NoFreeAccountError as error:
        raise UnsupportedPlatformError(f"no user id to run the browser as: {error}") from None
