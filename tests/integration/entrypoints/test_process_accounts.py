"""Under root every process that meets what strangers wrote has a user id of its own, and so has Postgres: taken over,
one of them could neither open another's files nor signal it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.support.gateway_server import status
from tests.unit.render.packs import pack_of, payload

from quire.reading import Jail, ReadingLimits
from quire.render.infrastructure.chromium.account import choose_account as browser_account
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.runtime.account import LASTING_IDS
from quire.runtime.embedded_postgres import EmbeddedPostgres
from quire.runtime.isolation import BARE_ENVIRONMENT

ROOT = Path(__file__).parents[3]
NOBODY = 65534
READ_SECONDS = 60

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give its children other ids")


@pytest.fixture
async def template_process() -> AsyncIterator[int]:
    builder = JinjaHtmlBuilder()
    await builder.build(pack_of("invoice"), payload("invoice"), READ_SECONDS)
    assert builder.pid is not None
    yield builder.pid
    await builder.close()


@pytest.fixture
async def reader(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A child of the jail in the middle of its document."""
    monkeypatch.setitem(BARE_ENVIRONMENT, "PYTHONPATH", str(ROOT))
    jail = Jail("tests.unit.reading.odd_reader")
    await jail.start()
    with tempfile.TemporaryFile() as file:
        file.write(b"words")
        file.flush()
        limits = ReadingLimits(wall_seconds=READ_SECONDS)
        reading = asyncio.create_task(jail.run(file.fileno(), {"act": "sleep"}, limits))
        yield await confined_child(jail)
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
        await jail.close()


async def confined_child(jail: Jail) -> int:
    async with asyncio.timeout(READ_SECONDS):
        while True:
            children = Path(f"/proc/{jail.pid}/task/{jail.pid}/children").read_text().split()
            for child in children:
                if status(int(child)).get("Seccomp") == "2":
                    return int(child)
            await asyncio.sleep(0.02)


@pytest.fixture
def server(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(data_dir)
    server.start()
    yield server
    server.stop()


def uid_of(pid: int) -> int:
    (uid,) = set(status(pid)["Uid"].split())
    return int(uid)


async def test_reader_template_process_browser_and_postgres_have_an_id_each(
    reader: int, template_process: int, server: EmbeddedPostgres
) -> None:
    ids = [uid_of(reader), uid_of(template_process), uid_of(server.pid), browser_account().uid]
    assert len(set(ids)) == len(ids), ids
    assert not {0, NOBODY} & set(ids)
    assert server.cluster.stat().st_uid == uid_of(server.pid)
    assert uid_of(reader) not in LASTING_IDS


async def test_a_reader_that_was_taken_over_reaches_neither_the_database_nor_the_template_process(
    reader: int, template_process: int, server: EmbeddedPostgres
) -> None:
    """With the reader's id and without its system call filter, which would refuse all of this already."""
    logins = f"/proc/{server.pid}/cwd/pg_hba.conf"
    attempts = {
        f"exec 3>>{logins}": server.pid,
        f"exec 3<{logins}": server.pid,
        f"exec 3<{server.cluster}/pg_hba.conf": None,
        f"kill -0 {server.pid}": server.pid,
        f"kill -0 {template_process}": template_process,
    }
    for attempt, owner in attempts.items():
        assert not succeeds_as(uid_of(reader), attempt), attempt
        # The attempt itself is sound.
        assert owner is None or succeeds_as(uid_of(owner), attempt), attempt


async def test_a_template_process_that_was_taken_over_reaches_neither_the_database_nor_a_reader(
    reader: int, template_process: int, server: EmbeddedPostgres
) -> None:
    for attempt in (
        f"exec 3<>/proc/{server.pid}/cwd/pg_hba.conf",
        f"kill -0 {server.pid}",
        f"kill -0 {reader}",
    ):
        assert not succeeds_as(uid_of(template_process), attempt), attempt


def succeeds_as(uid: int, attempt: str) -> bool:
    done = subprocess.run(
        ["/bin/sh", "-c", attempt],
        user=uid,
        group=uid,
        extra_groups=[],
        capture_output=True,
        check=False,
        cwd="/",
    )
    return done.returncode == 0
