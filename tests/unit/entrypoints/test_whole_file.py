"""What a command writes to: a new name, a file, a link, a pipe, a device."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from quire.entrypoints.cli.whole_file import LocalFileError, whole_file


def save(path: Path, data: bytes = b"new") -> None:
    with whole_file(path) as target:
        target.write(data)


def save_half(path: Path) -> None:
    with whole_file(path) as target:
        target.write(b"half")
        assert not path.exists()
        raise ValueError("in the middle")


def test_a_file_appears_when_it_is_whole_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "result.xml"
    with pytest.raises(ValueError, match="in the middle"):
        save_half(path)
    assert list(tmp_path.iterdir()) == []
    save(path)
    save(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target.name)
    save(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_stays_one_and_gets_the_bytes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    save(pipe)
    reader.join(10)
    assert read == [b"new"]
    assert pipe.is_fifo()


def test_a_device_stays_one(tmp_path: Path) -> None:
    terminal, device = os.openpty()
    path = Path(os.ttyname(device))
    save(path)
    assert path.is_char_device()
    assert os.read(terminal, 10) == b"new"
    for end in (terminal, device):
        os.close(end)


def test_a_place_that_takes_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(LocalFileError, match="directory"):
        save(tmp_path)
    with pytest.raises(LocalFileError, match="no such file or directory"):
        save(tmp_path / "nowhere" / "file")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LocalFileError, match="not a directory"):
        save(tmp_path / "file" / "below")
