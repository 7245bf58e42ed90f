"""Faults between the moments at which a conversion keeps its result. They are too short to stop a process in from
outside, so the attempt runs here, with the parts of a worker, and the fault is put where it belongs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.conversions import convert_site, hand_in
from tests.support.gateway_process import GatewayProcess, pdf_that
from tests.support.site import Site

from quire.entrypoints.convert import convert_handlers
from quire.entrypoints.engine import Engine
from quire.jobs import Artifact, Handler, JobError
from quire.jobs.application.execution.attempt_context import AttemptContext
from quire.jobs.application.execution.running_job import RunningJob
from quire.jobs.domain.errors import LeaseLostError
from quire.jobs.infrastructure.postgres.artifact_store import StoredArtifacts
from quire.jobs.infrastructure.process.child_runner import ProcessGroupRunner
from quire.jobs.ports.v1.artifact_store import ArtifactStore
from quire.runtime.settings import load_settings
from quire.runtime.storage import url_signer
from quire.runtime.storage.backend import Approval, StoredObject
from quire.runtime.storage.local_disk import LocalDiskStorage

LEASE_SECONDS = 60.0


@pytest.fixture
def site(dsn: str, tmp_path: Path, gateway: GatewayProcess) -> Site:
    return convert_site(dsn, tmp_path, gateway.url)


@pytest.fixture
async def handler(site: Site) -> AsyncIterator[Handler]:
    async with convert_handlers(load_settings(**site.names)) as (handler,):
        yield handler


class Attempt(AttemptContext):
    """One attempt of a worker of its own; `once_stored` happens when the storage has the bytes."""

    once_stored: Callable[[], Awaitable[object]] | None = None

    async def put_artifact_stream(self, *arguments: Any, **names: Any) -> Artifact:
        artifact = await super().put_artifact_stream(*arguments, **names)
        if self.once_stored is not None:
            await self.once_stored()
        return artifact


async def attempt(engine: Engine, artifacts: ArtifactStore | None = None) -> Attempt:
    worker_id, queue = uuid4(), engine.policies.queues.queue("convert_xml")
    (lease,) = (await engine.leases.claim(worker_id, [queue], 1, LEASE_SECONDS)).leases
    running = RunningJob(lease, queue, engine.policies.queues.kind(lease.kind))
    return Attempt(running, worker_id, engine.leases, artifacts or engine.artifacts, ProcessGroupRunner())


async def convert(handler: Handler, context: Attempt) -> object:
    payload = handler.decode(json.loads(context.lease.payload_text))
    return await handler.handle(payload, context)


async def lose_lease(engine: Engine, job_id: UUID) -> None:
    async with engine.database.acquire() as connection:
        await connection.execute(
            "UPDATE jobs SET lease_expires_at = now() - interval '1 s' WHERE id = $1", job_id
        )
    await engine.leases.reclaim(page=10)


async def test_a_worker_that_lost_its_lease_does_not_put_its_result_over_the_winners(
    site: Site, engine: Engine, handler: Handler, tmp_path: Path
) -> None:
    job_id = await hand_in(site, engine, pdf_that(1, answer="large", times=1))
    result = tmp_path / "results" / f"{job_id}.xml"
    loser, winners = await attempt(engine), list[bytes]()

    async def another_wins() -> None:
        await lose_lease(engine, job_id)
        await convert(handler, await attempt(engine))
        winners.append(result.read_bytes())

    loser.once_stored = another_wins
    with pytest.raises(LeaseLostError):
        await convert(handler, loser)
    assert [path.read_bytes() for path in (tmp_path / "results").iterdir()] == winners


class ForgetfulDisk(LocalDiskStorage):
    """Takes all bytes of a stream and keeps none."""

    async def put_stream(
        self, key: str, chunks: AsyncIterator[bytes], *, approve: Approval | None = None, **_: Any
    ) -> StoredObject:
        assert [chunk async for chunk in chunks]
        assert approve is not None
        await approve()
        return await self.put_bytes(key, b"")


async def test_a_result_of_which_the_storage_kept_nothing_is_none(site: Site, engine: Engine) -> None:
    await hand_in(site, engine, pdf_that(2))
    settings = load_settings(**{**site.names, "RESULTS_DIR": ""})
    disk = ForgetfulDisk(site.storage_dir, url_signer(settings))
    async with convert_handlers(settings) as (handler,):
        with pytest.raises(JobError, match="kept an empty file") as failure:
            await convert(handler, await attempt(engine, StoredArtifacts(engine.database, disk)))
    assert failure.value.code == "IO_ERROR"
