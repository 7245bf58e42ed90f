"""Where an artifact lies: `{folder}/{job_id}/{timestamp}.{suffix}`, on a disk a plain file that anyone can open."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from tests.support.engine_fixture import claim_one, enqueue_one, expire_lease, opened_engine, run_sql

ANN, BEN = uuid4(), uuid4()
PDF = b"%PDF-1.7\nand so on\n%%EOF\n"
HOW = {"filename": "invoice.pdf", "content_type": "application/pdf", "folder": "pdfs"}


async def test_a_pdf_lies_under_its_job_and_the_moment_of_the_databases_clock_as_a_plain_file(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        lease = await claim_one(engine, ANN)
        before = (await run_sql(engine, "SELECT clock_timestamp()"))[0][0]
        artifact = await engine.artifacts.write(ANN, lease, PDF, **HOW)
        after = (await run_sql(engine, "SELECT clock_timestamp()"))[0][0]
        match = re.fullmatch(rf"pdfs/{job_id}/(\d{{8}}T\d{{12}}Z)\.pdf", artifact.key)
        assert match is not None, artifact.key
        moment = datetime.strptime(match[1], "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)
        assert isinstance(before, datetime)
        assert isinstance(after, datetime)
        assert before <= moment <= after
    assert (tmp_path / "storage" / artifact.key).read_bytes() == PDF


async def test_attempts_of_one_job_never_share_a_key(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        zombie = await claim_one(engine, ANN)
        many = await asyncio.gather(*(engine.artifacts.write(ANN, zombie, PDF, **HOW) for _ in range(50)))
        await expire_lease(engine, job_id)
        await engine.leases.reclaim(100)
        winner = await engine.artifacts.write(
            BEN, await claim_one(engine, BEN), b"the one that counts", **HOW
        )
        assert len({artifact.key for artifact in (*many, winner)}) == 51
        rows = await run_sql(
            engine, "SELECT count(DISTINCT artifact_key), count(DISTINCT fence) FROM artifacts"
        )
        assert rows == [(51, 2)]
        assert await engine.storage.get_bytes(winner.key, max_bytes=100) == b"the one that counts"
