"""Where the files that come with Quire are: the checkout's top folder, or inside the installed package."""

from __future__ import annotations

from pathlib import Path

import quire


def shipped_dir(name: str) -> Path:
    package = Path(quire.__file__).parent
    checkout = package.parents[1] / name
    return checkout if checkout.is_dir() else package / "_data" / name
