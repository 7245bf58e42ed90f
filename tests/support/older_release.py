"""Another version of Quire to run beside this one: a tree out of the repository's history, or, where there is no
history, a copy of this tree that calls itself older."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import REPOSITORY

# The last commit of the time when Postgres was the only broker. A release takes its place when there is one.
COMMIT = "bd411ae"
VERSION = "0.0.1"
PARTS = ("src", "config", "migrations", "templates")


@dataclass(frozen=True)
class OlderRelease:
    root: Path
    from_history: bool

    @property
    def names(self) -> dict[str, str]:
        """Before the path of this version's own modules; its policy files come with it."""
        return {"PYTHONPATH": str(self.root / "src"), "QUIRE_CONFIG_DIR": str(self.root / "config")}


def older_release(root: Path) -> OlderRelease:
    """Either way it calls itself VERSION, so that a test can tell who is who."""
    root.mkdir()
    from_history = _unpack_history(root)
    if not from_history:
        for part in PARTS:
            shutil.copytree(REPOSITORY / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    package = root / "src" / "quire" / "__init__.py"
    package.write_text(f'{package.read_text()}\n__version__ = "{VERSION}"\n')
    return OlderRelease(root, from_history)


def _unpack_history(root: Path) -> bool:
    """False without git, without a repository, and in a clone that does not reach so far back."""
    if shutil.which("git") is None:
        return False
    archive = subprocess.run(
        ["git", "archive", COMMIT, *PARTS], cwd=REPOSITORY, capture_output=True, check=False
    )
    if archive.returncode == 0:
        subprocess.run(["tar", "-x"], cwd=root, input=archive.stdout, check=True)
    return archive.returncode == 0
