"""No room for an artifact: a typed failure that a person can repair, and nothing half-written."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.auditor import Auditor, all_ended, stored_keys
from tests.support.load import enqueue
from tests.support.processes import WorkerProcess, WorkerYard
from tests.support.records import each_reaches, job_of, problem_of
from tests.support.site import Site

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest, JobState

DISK_BYTES = 512 * 1024
LARGE = {"text": "x" * 1024, "repeat": 256}


@dataclass
class FullDisk:
    """A file system of its own with a ballast on it."""

    root: Path

    def fill(self, worker: WorkerProcess) -> None:
        (self.root / ".ballast").write_bytes(b"\0" * (DISK_BYTES * 3 // 4))

    def free(self, worker: WorkerProcess) -> None:
        (self.root / ".ballast").unlink()


@dataclass
class FileSizeLimit:
    """Where mounting is not allowed: the kernel refuses bytes past a limit, with EFBIG."""

    def fill(self, worker: WorkerProcess) -> None:
        worker.limit_file_size(128 * 1024)

    def free(self, worker: WorkerProcess) -> None:
        worker.limit_file_size(64 * 1024 * 1024)


@contextlib.contextmanager
def small_disk(root: Path) -> Iterator[FullDisk]:
    root.mkdir(parents=True)
    options = f"size={DISK_BYTES}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", root], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not permitted here; the file size limit shows the same")
    try:
        yield FullDisk(root)
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)


@pytest.fixture(params=["disk", "file_size_limit"])
def shortage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FullDisk | FileSizeLimit]:
    if request.param == "disk":
        with small_disk(tmp_path / "site" / "storage") as disk:
            yield disk
    else:
        yield FileSizeLimit()


async def test_full_disk_fails_the_job_leaves_nothing_behind_and_a_retry_succeeds_after_space_is_freed(
    shortage: FullDisk | FileSizeLimit, site: Site, engine: Engine, yard: WorkerYard
) -> None:
    worker = yard.start()
    await worker.started()
    shortage.fill(worker)
    (large,) = await enqueue(engine, JobRequest("jobs.store", LARGE))
    await each_reaches(engine, [large], lambda job: job.state is JobState.FAILED, "the failure")
    job = await job_of(engine, large)
    assert (job.error_code, job.attempt, job.artifact_key) == ("STORAGE_FULL", 1, None)
    assert await stored_keys(engine) == []
    assert list((site.storage_dir / ".incoming").iterdir()) == []

    small = await enqueue(engine, JobRequest("jobs.store", {"text": "small"}), JobRequest("jobs.noop", {}))
    await each_reaches(engine, small, lambda job: job.state is JobState.SUCCEEDED, "the small ones")

    shortage.free(worker)
    await engine.problems.retry(await problem_of(engine, large), "operator")
    await all_ended(engine)
    report = await Auditor(engine, site.storage_dir, [large, *small]).report()
    assert report.states == {"succeeded": 3}
    assert worker.exit_code is None
