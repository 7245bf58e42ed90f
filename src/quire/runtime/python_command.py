"""How Quire starts a Python process of its own: nothing is imported from the directory that it runs in.

That directory is wherever the operator stood, perhaps /tmp. `-P` leaves it out and keeps what the operator set on
purpose: `-I` would also drop PYTHONPATH, by which two releases run side by side, and PYTHONUNBUFFERED.
"""

from __future__ import annotations

import sys


def python_module(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", module, *arguments]
