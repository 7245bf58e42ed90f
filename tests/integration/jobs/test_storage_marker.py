"""A storage without its marker, as an unmounted disk leaves one: refused everywhere, and no finished job suffers."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.support.engine_fixture import (
    ended,
    engine_at_work,
    engine_settings,
    enqueue,
    job_of,
    opened_engine,
    run_sql,
)

from quire.entrypoints.convert import convert_handlers
from quire.entrypoints.engine import Engine, open_engine
from quire.jobs import JobRequest
from quire.jobs.application.upkeep.sweeper import Sweeper
from quire.runtime.storage import StorageUnmarkedError

STORE = JobRequest("jobs.store", {"text": "kept"})


async def stored(engine: Engine) -> UUID:
    (receipt,) = await enqueue(engine, STORE)
    await ended(engine, receipt.job_id)
    return receipt.job_id


def unmount(storage: Path) -> Path:
    """What is left is the empty directory below the mount point."""
    disk = storage.rename(storage.with_name("disk"))
    storage.mkdir()
    return disk


def mount(disk: Path, storage: Path) -> None:
    shutil.rmtree(storage)
    disk.rename(storage)


async def test_a_storage_that_is_unmounted_under_a_running_process_expires_nothing(
    dsn: str, tmp_path: Path
) -> None:
    storage = tmp_path / "storage"
    async with engine_at_work(dsn, tmp_path) as engine:
        job_id = await stored(engine)
        disk = unmount(storage)
        with pytest.raises(StorageUnmarkedError, match="mount it"):
            await enqueue(engine, STORE)
        await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '1 s'")
        await Sweeper(
            uuid4(), engine.registry, engine.expiry, engine.artifacts, engine.policies, 3600
        ).sweep()
        await run_sql(engine, "UPDATE jobs SET expires_at = now() + interval '1 day'")
        assert (await job_of(engine, job_id)).state == "succeeded"
        assert list(storage.iterdir()) == []
        mount(disk, storage)
        (again,) = await enqueue(engine, STORE)
        assert (again.job_id, again.outcome) == (job_id, "existing")


async def test_a_process_does_not_start_on_an_unmounted_storage_nor_fill_it(dsn: str, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    async with engine_at_work(dsn, tmp_path) as engine:
        job_id = await stored(engine)
    disk = unmount(storage)
    with pytest.raises(StorageUnmarkedError, match="quire storage init"):
        async with opened_engine(dsn, tmp_path):
            pass
    assert list(storage.iterdir()) == []
    storage.rmdir()
    with pytest.raises(StorageUnmarkedError):
        async with opened_engine(dsn, tmp_path):
            pass
    assert not storage.exists()
    disk.rename(storage)
    async with opened_engine(dsn, tmp_path) as engine:
        assert (await enqueue(engine, STORE))[0].job_id == job_id


async def test_a_storage_of_an_earlier_release_gets_its_marker_at_the_start(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        job_id = await stored(engine)
    marker = tmp_path / "storage" / ".quire-storage"
    marker.unlink()
    async with opened_engine(dsn, tmp_path) as engine:
        assert marker.is_file()
        assert (await enqueue(engine, STORE))[0].job_id == job_id


async def test_an_installation_without_artifacts_makes_its_storage(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path):
        assert (tmp_path / "storage" / ".quire-storage").is_file()


async def test_a_worker_that_converts_may_be_the_first_process_of_an_installation(
    dsn: str, tmp_path: Path
) -> None:
    settings = engine_settings(dsn, tmp_path, GATEWAY_URL="http://127.0.0.1:9")
    async with (
        convert_handlers(settings) as handlers,
        open_engine(settings, application="test", handlers=handlers) as engine,
    ):
        await engine.storage.put_bytes("convert/inputs/a.pdf", b"%PDF-")
    assert (tmp_path / "storage" / ".quire-storage").exists()
