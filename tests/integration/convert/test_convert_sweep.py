"""Files of conversions go when no job needs them any more, and not before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from tests.support.engine_fixture import opened_engine, run_sql

from quire.convert import AcceptanceDesk, FileSweeper, MappingList, create_conversion
from quire.convert.infrastructure.filesystem.result_shelf import DirectoryResultShelf
from quire.convert.infrastructure.storage.input_store import StoredInputStore
from quire.entrypoints.engine import Engine
from quire.kernel import new_uuid7
from quire.runtime.auth import Principal

ANN = Principal("t", "ann", "acme", "user")


class LaterClock:
    def __init__(self, later: timedelta) -> None:
        self._later = later

    def now(self) -> datetime:
        return datetime.now(UTC) + self._later


async def pdf(number: int) -> AsyncIterator[bytes]:
    yield b"%%PDF-1.7 %d" % number


async def handed_in(engine: Engine, inputs: StoredInputStore, count: int) -> list[UUID]:
    desk = AcceptanceDesk(engine.intake, inputs, MappingList(["alto"]), 1000, engine.storage)
    return [(await create_conversion(desk, ANN, "alto", pdf(number))).job_id for number in range(count)]


async def test_files_go_with_the_need_for_them(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        inputs = StoredInputStore(engine.storage)
        shelf = DirectoryResultShelf(tmp_path / "results")
        await shelf.ensure_ready()
        states = ["queued", "running", "failed", "succeeded", "cancelled", "expired"]
        ids = dict(zip(states, await handed_in(engine, inputs, len(states)), strict=True))
        for state in ("failed", "succeeded", "cancelled", "expired"):
            await run_sql(engine, "UPDATE jobs SET state = $2 WHERE id = $1", ids[state], state)
        orphan = new_uuid7()
        await inputs.put(orphan, pdf(99))
        for job_id in (*ids.values(), orphan):
            draft = shelf.draft(job_id, 1)
            await draft.write(b"<a/>")
            await draft.publish(4)
            await draft.close()
        await engine.storage.put_bytes(f"convert/uploads/acme/{orphan}.pdf", b"%PDF-")

        now, later = LaterClock(timedelta()), LaterClock(timedelta(days=2))
        young = FileSweeper(engine.board, engine.storage, inputs, shelf, now, 3600)
        assert await young.sweep() == 0
        old = FileSweeper(engine.board, engine.storage, inputs, shelf, later, 3600)
        assert await old.sweep() == 8
        assert await old.sweep() == 0
        left = {file.job_id for file in await inputs.page(None, 100)}
        assert left == {ids["queued"], ids["running"], ids["failed"]}
        on_shelf = {file.job_id for file in await shelf.page(None, 100)}
        assert on_shelf == left | {ids["succeeded"]}
        assert await engine.storage.list("convert/uploads/") == ()
