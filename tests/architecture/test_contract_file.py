"""The committed contract is what the application says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_committed_openapi_document_is_current() -> None:
    checked = subprocess.run(
        [sys.executable, "scripts/openapi.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert checked.returncode == 0, checked.stderr
