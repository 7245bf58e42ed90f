"""One suite over every place that keeps PDFs: a shared directory, the storage backend on a disk and on S3, and a
directory that took the storage's place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.storage_setup import disk_storage, s3_storage

from quire.convert.infrastructure.filesystem.input_store import DirectoryInputStore
from quire.convert.infrastructure.places.input_store import InputPlaces
from quire.convert.infrastructure.storage.input_store import StoredInputStore
from quire.convert.ports.v1.input_store import InputStore
from quire.kernel import new_uuid7
from quire.runtime.storage import StorageNotFoundError

PDF = b"%PDF-1.7\n" + bytes(range(256)) * 9000


@pytest.fixture(params=["directory", "disk", "s3", "moved"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[InputStore]:
    if request.param == "directory":
        directory = DirectoryInputStore(tmp_path / "made" / "here")
        await directory.ensure_ready()
        yield directory
        return
    where = disk_storage(tmp_path / "storage")
    if request.param == "s3":
        where = s3_storage(request.getfixturevalue("s3_server"))
    async with where as storage:
        await storage.ensure_ready(create=True)
        stored = StoredInputStore(storage)
        moved = InputPlaces(DirectoryInputStore(tmp_path / "now"), stored)
        store: InputStore = moved if request.param == "moved" else stored
        await store.ensure_ready()
        yield store


async def chunks(data: bytes = PDF, step: int = 100_000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), step):
        yield data[start : start + step]


async def broken() -> AsyncIterator[bytes]:
    yield PDF
    raise ValueError("the client went away")


async def kept(store: InputStore) -> list[UUID]:
    return [file.job_id for file in await store.page(None, 100)]


async def test_what_was_put_is_read_back_whole(store: InputStore) -> None:
    job_id = new_uuid7()
    await store.put(job_id, chunks())
    assert b"".join([chunk async for chunk in store.read(job_id)]) == PDF
    assert await store.size_bytes(job_id) == len(PDF)
    assert await kept(store) == [job_id]


async def test_a_file_whose_source_breaks_leaves_nothing(store: InputStore, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="went away"):
        await store.put(new_uuid7(), broken())
    assert await kept(store) == []
    assert not [path for path in tmp_path.rglob("*.part") if path.is_file()]


async def test_what_is_not_there_is_said_so_and_deleted_in_peace(store: InputStore) -> None:
    job_id = new_uuid7()
    with pytest.raises(StorageNotFoundError):
        await store.size_bytes(job_id)
    with pytest.raises(StorageNotFoundError):
        await anext(aiter(store.read(job_id)))
    await store.delete(job_id)
    await store.put(job_id, chunks())
    await store.delete(job_id)
    assert await kept(store) == []


async def test_pages_go_through_all_files_once_in_the_order_of_their_ids(store: InputStore) -> None:
    ids = sorted(new_uuid7() for _ in range(5))
    for job_id in reversed(ids):
        await store.put(job_id, chunks(b"%PDF-"))
    seen: list[UUID] = []
    after = None
    while page := await store.page(after, 2):
        seen += [file.job_id for file in page]
        after = page[-1].job_id
    assert seen == ids


async def test_other_names_in_a_shared_directory_are_left_alone(tmp_path: Path) -> None:
    store = DirectoryInputStore(tmp_path)
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"secret")
    (job_id, link) = new_uuid7(), tmp_path / f"{new_uuid7()}.pdf"
    (tmp_path / "readme.txt").write_text("hands off")
    (tmp_path / f"{job_id}.PDF").write_text("not ours either")
    assert await kept(store) == []
    link.symlink_to(outside)
    with pytest.raises(Exception, match="leads out"):
        await anext(aiter(store.read(UUID(link.stem))))


async def test_other_names_in_the_storage_are_left_alone_and_hide_no_file(tmp_path: Path) -> None:
    """Objects on a disk are plain files, so a person may lay one beside them."""
    async with disk_storage(tmp_path / "storage") as storage:
        await storage.ensure_ready(create=True)
        store = StoredInputStore(storage)
        ids = sorted(new_uuid7() for _ in range(3))
        for job_id in ids:
            await store.put(job_id, chunks(b"%PDF-"))
        inputs = tmp_path / "storage" / "convert" / "inputs"
        for name in ("0-notes.pdf", "1-notes.txt", f"{ids[1]}.pdf.bak", "zz.pdf"):
            (inputs / name).write_text("hands off")
        assert await kept(store) == ids
        assert [file.job_id for file in await store.page(None, 1)] == ids[:1]
        assert [file.job_id for file in await store.page(ids[0], 2)] == ids[1:]


async def test_what_was_kept_before_the_place_changed_is_found_told_and_deleted(tmp_path: Path) -> None:
    async with disk_storage(tmp_path / "storage") as storage:
        before, now = StoredInputStore(storage), DirectoryInputStore(tmp_path / "now")
        places = InputPlaces(now, before)
        await places.ensure_ready()
        old, new = new_uuid7(), new_uuid7()
        await before.put(old, chunks(PDF[:5000]))
        await places.put(new, chunks())
        assert b"".join([chunk async for chunk in places.read(old)]) == PDF[:5000]
        assert await places.size_bytes(old) == 5000
        assert await kept(places) == [old, new]
        assert [file.job_id for file in await places.page(None, 1)] == [old]
        assert [file.job_id for file in await places.page(old, 1)] == [new]
        assert await kept(before) == [old]
        for job_id in (old, new):
            await places.delete(job_id)
        assert await kept(places) == await kept(before) == await kept(now) == []
