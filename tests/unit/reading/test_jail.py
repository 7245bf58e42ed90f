"""A reader that never ends, dies, or is gone: a typed refusal in its time, nothing left open, and the next is read."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from quire.reading import Jail, JailUnavailableError, ReaderCrashedError, ReadingLimits, ReadingTooCostlyError
from quire.reading.infrastructure.jail import jail as our_end
from quire.runtime.isolation import BARE_ENVIRONMENT

ROOT = Path(__file__).parents[3]
READER = "tests.unit.reading.odd_reader"
WORDS = b"words of the document"
SOON = ReadingLimits(wall_seconds=0.5)


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jails find the module that their children are to run."""
    monkeypatch.setitem(BARE_ENVIRONMENT, "PYTHONPATH", str(ROOT))


@pytest.fixture
async def jail(readers: None) -> AsyncIterator[Jail]:
    jail = Jail(READER)
    yield jail
    await jail.close()


@pytest.fixture
def document() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        file.write(WORDS)
        file.flush()
        yield file.fileno()


async def test_a_reader_that_waits_for_ever_is_ended_at_its_time(jail: Jail, document: int) -> None:
    with pytest.raises(ReadingTooCostlyError, match="more time than it may"):
        await jail.run(document, {"act": "sleep"}, SOON)
    server = jail.pid
    assert await given_back(jail, document) == WORDS
    assert jail.pid == server


async def test_a_reader_that_hears_no_alarm_is_ended_alone_and_leaves_no_file_open(
    jail: Jail, document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(our_end, "PATIENCE_SECONDS", 0.5)
    assert await given_back(jail, document) == WORDS
    server, before = jail.pid, open_files()
    with pytest.raises(ReadingTooCostlyError, match=r"not read within 0\.5 s") as refusal:
        await jail.run(document, {"act": "speak_and_stay"}, SOON)
    # As long as somebody looks at the refusal, nothing is closed by chance.
    assert refusal.tb is not None
    assert open_files() == before
    assert children(server) == []
    assert await given_back(jail, document) == WORDS
    assert jail.pid == server


async def test_a_cancelled_reading_has_ended_its_reader_when_it_returns(jail: Jail, document: int) -> None:
    await jail.start()
    readings = [
        asyncio.create_task(jail.run(document, {"act": act}, ReadingLimits()))
        for act in ("sleep", "speak_and_stay")
    ]
    while len(children(jail.pid)) < len(readings):
        await asyncio.sleep(0.01)
    for reading in readings:
        reading.cancel()
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert children(jail.pid) == []
    assert await given_back(jail, document) == WORDS


async def test_a_server_that_does_not_answer_is_ended_with_its_readers(
    jail: Jail, document: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(our_end, "END_SECONDS", 0.5)
    await jail.start()
    server = jail.pid
    assert server is not None
    reading = asyncio.create_task(jail.run(document, {"act": "sleep"}, ReadingLimits()))
    while not children(server):
        await asyncio.sleep(0.01)
    (reader,) = children(server)
    os.kill(server, signal.SIGSTOP)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not is_alive(server)
    async with asyncio.timeout(10):
        while is_alive(reader):
            await asyncio.sleep(0.01)
    assert await given_back(jail, document) == WORDS


@pytest.mark.parametrize("act", ["touch_nothing", "fail"])
async def test_a_reader_that_crashes_tells_nothing_and_the_next_one_reads(
    jail: Jail, document: int, act: str
) -> None:
    with pytest.raises(ReaderCrashedError) as refusal:
        await jail.run(document, {"act": act}, ReadingLimits())
    assert refusal.value.code == "READER_CRASHED"
    assert WORDS.decode() not in refusal.value.detail
    assert await given_back(jail, document) == WORDS


@pytest.mark.usefixtures("readers")
async def test_a_document_that_comes_as_the_server_dies_is_told_so_and_is_not_waited_for(
    document: int,
) -> None:
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, complaint: complaints.append(complaint))
    jail = Jail(READER)
    await jail.start()
    kill(jail.pid)
    with pytest.raises(JailUnavailableError, match="takes no more"):
        await jail.run(document, {"act": "give_back"}, ReadingLimits())
    await jail.close()
    assert await given_back(jail, document) == WORDS
    await jail.close()
    del jail
    gc.collect()
    assert complaints == []


async def test_what_others_put_into_the_temporary_directory_is_not_run(
    jail: Jail, document: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "selectors.py").write_text("raise SystemExit('not by us')")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert await given_back(jail, document) == WORDS


async def given_back(jail: Jail, document: int) -> bytes:
    with await jail.run(document, {"act": "give_back"}, ReadingLimits()) as answer:
        return answer.read()


def kill(pid: int | None) -> None:
    """Returns when it is dead, and before the loop has heard of it."""
    assert pid is not None
    process = os.pidfd_open(pid)
    signal.pidfd_send_signal(process, signal.SIGKILL)
    select.select([process], [], [])
    os.close(process)


def children(pid: int | None) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
