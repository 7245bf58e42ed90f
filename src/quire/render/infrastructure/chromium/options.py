"""How many browsers, how long they live, how much a document may ask for."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChromiumOptions:
    # The headless shell: less than half of full Chromium's time and memory a page, and no look-ups of its own.
    executable: Path = Path("/usr/lib/chromium/chromium-headless-shell")
    directory: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Where browsers keep their private directories; an unprivileged user must be able to enter it."""

    browsers: int = 1
    pages_per_browser: int = 4
    idle_pages: int = 4
    """Pages a browser keeps open for the next document with the same reuse key."""
    documents_per_page: int = 500
    """A page does not grow with its documents; a new one costs as much as ten of them, so it may live long."""
    jobs_per_browser: int = 2000
    recycle_memory_bytes: int = 1024 * MIB
    """A browser past this gets no new documents and is replaced."""
    kill_memory_bytes: int = 2048 * MIB
    """A browser past this is killed at once, with what it prints."""
    heap_mib: int = 256

    launch_seconds: float = 20.0
    probe_seconds: float = 1.0
    close_seconds: float = 1.5

    max_html_bytes: int = 8 * MIB
    max_asset_bytes: int = 32 * MIB
    max_pages: int = 2000
    max_output_bytes: int = 64 * MIB
