"""The samples of docs/guides/jobs.md, run as they stand there: the Python blocks are one program, the YAML blocks its
policy files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.journey.quire_up import clean_environment

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "jobs.md"
BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def samples() -> tuple[str, dict[str, str]]:
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    program = "\n\n".join(text for language, mark, text in blocks if (language, mark) == ("python", "run"))
    files = {mark: text for language, mark, text in blocks if language == "yaml"}
    return program, files


def test_jobs_guide_runs_as_written(dsn: str, tmp_path: Path) -> None:
    program, files = samples()
    assert len(files) == 3
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "guide.py").write_text(program, encoding="utf-8")
    places = {
        "DATABASE_URL": dsn,
        "QUIRE_CONFIG_DIR": str(tmp_path / "config"),
        "QUIRE_STORAGE_URL": f"file:{tmp_path / 'storage'}",
    }
    done = subprocess.run(
        [sys.executable, "guide.py"],
        cwd=tmp_path,
        env={**clean_environment(), **places},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
