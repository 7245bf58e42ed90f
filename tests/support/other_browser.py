"""The browser of this machine once more, as another version of it: the same program with another number in it."""

from __future__ import annotations

import mmap
import shutil
from pathlib import Path

from quire.render.infrastructure.chromium import ChromiumOptions
from quire.render.infrastructure.chromium.fingerprint import chromium_version

INSTALLED = ChromiumOptions().executable


def other_browser(directory: Path) -> Path:
    """Its last digit differs. What it reads at its start lies beside it, as links."""
    for part in INSTALLED.parent.iterdir():
        if part != INSTALLED:
            (directory / part.name).symlink_to(part)
    other = directory / INSTALLED.name
    shutil.copy(INSTALLED, other)
    version = chromium_version(INSTALLED).encode()
    with other.open("r+b") as file, mmap.mmap(file.fileno(), 0) as program:
        place = program.find(version)
        assert place >= 0, "the program holds its version as text"
        last = place + len(version) - 1
        program[last] = ord("1") if program[last] != ord("1") else ord("2")
    assert chromium_version(other) != chromium_version(INSTALLED)
    return other
