"""Samples of the documentation, run as they stand there. In docs/guides/jobs.md the Python blocks are one program and
the YAML blocks its policy files; the tour of README.md and the marked shell blocks of the guides are one
session beside a `quire up`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.quire_up import QuireUp, clean_environment

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def samples(page: str) -> list[tuple[str, str, str]]:
    """Language, mark and text of every marked block."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def test_jobs_guide_runs_as_written(dsn: str, tmp_path: Path) -> None:
    blocks = samples("docs/guides/jobs.md")
    files = {mark: text for language, mark, text in blocks if language == "yaml"}
    program = "\n\n".join(text for language, mark, text in blocks if (language, mark) == ("python", "run"))
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


def shell_session() -> str:
    tour = [text for _, mark, text in samples("README.md") if mark == "tour"]
    guides = [samples(f"docs/guides/{name}.md") for name in ("api", "render", "convert")]
    blocks = [
        text for guide in guides for language, mark, text in guide if (language, mark) == ("bash", "run")
    ]
    assert (len(tour), len(blocks)) == (7, 9)
    return "\n".join((*tour, *blocks))


def test_readme_tour_and_shell_samples_of_the_guides_run_as_written(tmp_path: Path) -> None:
    session = shell_session()
    quire = QuireUp(
        tmp_path / "data", environment={"WORKER_LEASE_TTL_SEC": "3", "QUIRE_DIAGNOSTIC_KINDS": "true"}
    ).wait_ready()
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", session],
            cwd=tmp_path,
            env={**clean_environment(), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        quire.interrupt()
    assert done.returncode == 0, done.stdout + done.stderr
    for told in ("existing", "genuine: invoice.pdf", "reclaim", "exit code 4", "PAPER_JAM", '"genuine":true'):
        assert told in done.stdout
    for name, told in (
        ("invoice", "<alto"),
        ("contract", "<alto"),
        ("contract.tei", "<TEI"),
        ("factur-x", "CrossIndustry"),
    ):
        assert told in (tmp_path / f"{name}.xml").read_text(encoding="utf-8")
