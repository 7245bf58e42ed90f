"""`quire storage` as a person runs it: a real process on a real disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

QUIRE = str(Path(sys.executable).with_name("quire"))


def quire(tmp_path: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "QUIRE_STORAGE_URL": f"file:{tmp_path}/storage"}
    done = subprocess.run(
        [QUIRE, "storage", *arguments],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def test_an_object_goes_in_and_out_by_command(tmp_path: Path) -> None:
    source, target = tmp_path / "in.pdf", tmp_path / "out.pdf"
    source.write_bytes(b"%PDF-" + bytes(3_000_000))
    assert b"STORAGE_UNMARKED" in quire(tmp_path, "check", code=3).stderr
    assert json.loads(quire(tmp_path, "init", "--json").stdout)["ok"] is True
    assert json.loads(quire(tmp_path, "check", "--json").stdout)["ok"] is True
    put = json.loads(quire(tmp_path, "put", str(source), "a/in.pdf", "--json").stdout)
    assert (put["size_bytes"], put["content_type"]) == (3_000_005, "application/pdf")
    assert [item["key"] for item in json.loads(quire(tmp_path, "ls", "a/", "--json").stdout)] == ["a/in.pdf"]
    quire(tmp_path, "get", "a/in.pdf", str(target))
    assert target.read_bytes() == source.read_bytes()
    assert quire(tmp_path, "get", "a/in.pdf", "-").stdout == source.read_bytes()
    quire(tmp_path, "rm", "a/in.pdf", "a/never-was")
    assert json.loads(quire(tmp_path, "ls", "--json").stdout) == []


def test_a_failed_get_says_why_and_leaves_no_file(tmp_path: Path) -> None:
    quire(tmp_path, "init")
    failed = quire(tmp_path, "get", "nothing", str(tmp_path / "out"), code=1)
    assert b"STORAGE_NOT_FOUND" in failed.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["storage"]
    assert b"LOCAL_FILE_UNUSABLE" in quire(tmp_path, "get", "nothing", f"{tmp_path}/no/out", code=1).stderr


def test_a_file_that_cannot_be_read_is_refused_by_name_and_puts_nothing(tmp_path: Path) -> None:
    quire(tmp_path, "init")
    for name, reason in (("missing.pdf", b"there is no such file"), (".", b"it is a directory")):
        failed = quire(tmp_path, "put", name, "a/in.pdf", code=1)
        assert b"error: LOCAL_FILE_UNUSABLE: " + name.encode() + b": " + reason in failed.stderr
    assert json.loads(quire(tmp_path, "ls", "--json").stdout) == []


def test_a_storage_that_is_not_there_is_worth_another_try(tmp_path: Path) -> None:
    assert b"STORAGE_UNMARKED" in quire(tmp_path, "ls", code=3).stderr
