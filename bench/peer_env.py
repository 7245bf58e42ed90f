"""The peers' own virtual environment, made on first use from pinned versions; none enters Quire's lock."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
HOME = REPOSITORY / ".venv-bench"
REQUIREMENTS = Path(__file__).parent / "peers" / "requirements.txt"


def peer_python() -> Path:
    """Python of an environment that matches `requirements.txt`; installs when it does not."""
    python = HOME / "bin" / "python"
    stamp = HOME / "requirements.sha256"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", "-r", REQUIREMENTS], check=True)
        stamp.write_text(wanted)
    return python
