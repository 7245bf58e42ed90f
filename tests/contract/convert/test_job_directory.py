"""A file of a job is in its place whole or not at all, also when the disk kept something else than was written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.convert.infrastructure.filesystem.input_store import DirectoryInputStore
from quire.convert.infrastructure.filesystem.result_shelf import DirectoryResultShelf
from quire.kernel import new_uuid7
from quire.runtime.storage import StorageUnavailableError

XML = b"<a>" + b"x" * 5000 + b"</a>"
OTHERS = b"<a>by another worker</a>"


def cut(target: Path) -> None:
    os.truncate(target, 100)


def replaced(target: Path) -> None:
    other = target.with_name("other")
    other.write_bytes(OTHERS)
    other.rename(target)


async def publish(root: Path, between: Callable[[Path], None] | None = None) -> Path:
    """`between`: what happens to the part when all of it is written."""
    job_id = new_uuid7()
    draft = DirectoryResultShelf(root).draft(job_id, fence=1)
    try:
        await draft.write(XML)
        if between is not None:
            (part,) = root.glob(".*.part")
            between(part)
        return Path(await draft.publish(len(XML)))
    finally:
        await draft.close()


async def test_a_file_that_lost_bytes_on_the_disk_never_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await publish(tmp_path)
    assert whole.read_bytes() == XML
    named: list[Path] = []
    monkeypatch.setattr(os, "replace", lambda part, target: named.append(target))
    with pytest.raises(StorageUnavailableError, match="another number of bytes"):
        await publish(tmp_path, cut)
    assert named == []
    assert list(tmp_path.iterdir()) == [whole]


@pytest.mark.parametrize(("fault", "left"), [(cut, []), (replaced, [OTHERS])])
async def test_a_file_that_is_wrong_once_it_has_its_name_is_removed_unless_it_is_anothers(
    fault: Callable[[Path], None], left: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os_replace = os.replace

    def replace(part: Path, target: Path) -> None:
        os_replace(part, target)
        fault(target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(StorageUnavailableError, match="another number of bytes"):
        await publish(tmp_path)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == left


async def test_a_file_in_the_place_of_the_directory_is_named_with_its_setting_and_the_way_out(
    tmp_path: Path,
) -> None:
    root = tmp_path / "results"
    shelf = DirectoryResultShelf(root)
    await shelf.ensure_ready()
    root.rmdir()
    root.write_text("in the way")
    draft = shelf.draft(new_uuid7(), fence=1)
    for call in (shelf.ensure_ready(), draft.write(XML), shelf.delete(new_uuid7()), shelf.page(None, 10)):
        with pytest.raises(
            StorageUnavailableError, match=r"RESULTS_DIR is not a directory: .* Move that away"
        ):
            await call
    await draft.close()
    inputs = DirectoryInputStore(root)
    with pytest.raises(StorageUnavailableError, match="UPLOADS_DIR is not a directory"):
        await inputs.size_bytes(new_uuid7())
