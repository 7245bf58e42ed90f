"""What decides the bytes beside the request: browser build, machine, fonts, and the way we print."""

from __future__ import annotations

import platform
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from quire.render.domain.errors import UnsupportedPlatformError
from quire.render.infrastructure.chromium.font_set import font_digest

# Raised with every change of flags, print arguments, page scripts or byte pinning that changes a document.
RECIPE = 2


def installed_fingerprint(executable: Path) -> str:
    """Of the browser that would start now; a running one knows its own."""
    return fingerprint_of(chromium_version(executable))


def fingerprint_of(version: str) -> str:
    return f"chromium-{version}-{platform.machine()}+fonts-{font_digest()}+recipe-{RECIPE}"


def chromium_version(executable: Path) -> str:
    """A browser that is upgraded while we run is another file, and is asked again."""
    try:
        file = executable.stat()
    except OSError as error:
        raise UnsupportedPlatformError(f"{executable} cannot be run: {type(error).__name__}") from None
    return _version(executable, (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns))


@lru_cache(maxsize=8)
def _version(executable: Path, identity: tuple[int, ...]) -> str:
    try:
        answer = subprocess.run(
            [str(executable), "--version"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnsupportedPlatformError(f"{executable} cannot be run: {type(error).__name__}") from None
    found = re.search(r"\d+(?:\.\d+){3}", answer.stdout)
    if found is None:
        raise UnsupportedPlatformError(f"{executable} does not say its version")
    return found.group()
