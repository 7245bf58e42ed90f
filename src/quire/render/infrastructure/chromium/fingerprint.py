"""What decides the bytes beside the request: browser build, machine, fonts, and the way we print."""

from __future__ import annotations

import platform
import re
import subprocess
from functools import cache
from pathlib import Path

from quire.render.domain.errors import UnsupportedPlatformError
from quire.render.infrastructure.chromium.font_set import font_digest

# Raised with every change of flags, print arguments, page scripts or byte pinning that changes a document.
RECIPE = 2


def renderer_fingerprint(executable: Path) -> str:
    version = chromium_version(executable)
    return f"chromium-{version}-{platform.machine()}+fonts-{font_digest()}+recipe-{RECIPE}"


@cache
def chromium_version(executable: Path) -> str:
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
