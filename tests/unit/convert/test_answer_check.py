"""The answer is checked beside the receiving: never far behind it, and never longer than it is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from quire.convert.domain.gateway_errors import AnswerUncheckedError, BadGatewayAnswerError
from quire.convert.infrastructure.libxml2.answer_check import PIPE_BYTES, PipedAnswerCheck

DEADLINE_SECONDS = 60.0
BLOCK = b"<b>text</b>" * 100_000
# So many blocks that they could not all wait in the pipe.
BLOCKS = 3 * PIPE_BYTES // len(BLOCK) + 1


def checking() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "answer_check"]


async def fed(check: PipedAnswerCheck, *chunks: bytes) -> None:
    for chunk in chunks:
        await check.feed(chunk)


async def fed_for_ever(check: PipedAnswerCheck) -> None:
    while True:
        await check.feed(b" " * 1000)
        await asyncio.sleep(0)


async def test_a_long_answer_passes_and_its_thread_ends() -> None:
    check = PipedAnswerCheck(1 << 30)
    await fed(check, b"<a>", *[BLOCK] * BLOCKS, b"</a>")
    await check.finish()
    await ended()


async def test_a_receiver_waits_for_a_check_that_is_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def slow(pipe: int) -> None:
        assert go.wait(DEADLINE_SECONDS)
        raise BadGatewayAnswerError("slow", status=200)

    monkeypatch.setattr("quire.convert.infrastructure.libxml2.answer_check.check_xml", slow)
    check = PipedAnswerCheck(1 << 30)
    await check.feed(bytes(PIPE_BYTES))
    waiting = asyncio.create_task(check.feed(b"more"))
    done, _ = await asyncio.wait([waiting], timeout=0.1)
    assert not done
    go.set()
    with pytest.raises(BadGatewayAnswerError, match="slow"):
        await asyncio.wait_for(waiting, DEADLINE_SECONDS)
    check.close()
    await ended()


async def test_what_is_found_is_told_before_the_answer_ends() -> None:
    check = PipedAnswerCheck(1 << 30)
    await check.feed(b"<a></b>")
    with pytest.raises(BadGatewayAnswerError, match="no XML"):
        await asyncio.wait_for(fed_for_ever(check), DEADLINE_SECONDS)
    check.close()
    await ended()


def test_a_receiver_that_waits_for_room_hears_the_verdict_on_the_loop_of_a_worker() -> None:
    reported: list[dict[str, object]] = []

    async def receive() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        check = PipedAnswerCheck(1 << 30)
        with pytest.raises(BadGatewayAnswerError, match="no XML"):
            await asyncio.wait_for(check.feed(b"<a></b>" + bytes(3 * PIPE_BYTES)), DEADLINE_SECONDS)
        check.close()
        await ended()

    uvloop.run(receive())
    assert reported == []


async def test_an_answer_of_nothing_is_refused() -> None:
    with pytest.raises(BadGatewayAnswerError, match="empty"):
        await PipedAnswerCheck(100).finish()


async def test_a_check_that_nobody_waits_for_ends_by_itself() -> None:
    check = PipedAnswerCheck(1 << 30)
    await check.feed(b"<a>")
    assert checking()
    check.close()
    await ended()


@contextlib.contextmanager
def files_left(count: int) -> Iterator[None]:
    """While inside, this process may open so many files more."""
    listed = [int(path.name) for path in Path("/proc/self/fd").iterdir()]
    open_now = {number for number in listed if _is_open(number)}
    free = [number for number in range(max(listed) + count + 2) if number not in open_now]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[count], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _is_open(number: int) -> bool:
    """The one by which they were listed is closed again."""
    return Path(f"/proc/self/fd/{number}").is_symlink()


async def checked_without_a_reader(check: PipedAnswerCheck) -> None:
    """Ends with the thread before the answer does, which gives its files back."""
    await check.feed(b"<a/>")
    await ended()
    await check.finish()


@pytest.mark.parametrize(
    ("count", "reason"),
    [(0, "EMFILE"), (1, "EMFILE"), (2, "EMFILE"), (3, "not read to its end")],
    ids=["no pipe", "half a pipe", "no end for the thread", "no way to read"],
)
async def test_a_machine_without_files_to_spare_is_not_the_answers_fault(count: int, reason: str) -> None:
    check = PipedAnswerCheck(1 << 30)
    with files_left(count), pytest.raises(AnswerUncheckedError, match=reason):
        await checked_without_a_reader(check)
    check.close()
    await ended()


async def test_an_answer_that_cannot_be_read_here_is_not_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where `/dev/fd` is missing."""
    monkeypatch.setattr("quire.convert.infrastructure.libxml2.xml_check.PIPES", "/nowhere/{}")
    with pytest.raises(AnswerUncheckedError, match="not read to its end"):
        await checked_without_a_reader(PipedAnswerCheck(1 << 30))


async def test_a_machine_without_threads_to_spare_is_not_the_answers_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    check = PipedAnswerCheck(1 << 30)
    with pytest.raises(AnswerUncheckedError, match="no thread"):
        await check.feed(b"<a/>")
    check.close()


async def ended() -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while checking():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
