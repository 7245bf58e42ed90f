"""Handlers that do what a handler should not, so that tests can see the engine cope."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping

from quire.jobs import Handler, JobContext

# Ignores SIGTERM, and so do its two descendants; tells all pids, then stays.
FAMILY_SCRIPT = """
trap '' TERM
( trap '' TERM; sleep 3600 ) &
sleep 3600 &
echo "$$" > "$1.draft" && mv "$1.draft" "$1"
wait
"""


def odd_handlers() -> list[Handler]:
    return [
        Handler("odd.die", _die),
        Handler("odd.block", _block),
        Handler("odd.stubborn", _stubborn),
        Handler("odd.hide_in_thread", _hide_in_thread),
        Handler("odd.linger", _linger),
        Handler("odd.store_slowly", _store_slowly),
        Handler("odd.unwind_slowly", _unwind_slowly),
        Handler("odd.family", _family),
        Handler("odd.leave", _leave),
        Handler("odd.cancel_itself", _cancel_itself),
        Handler("odd.answer_unstorable", _answer_unstorable),
    ]


def _seconds(payload: object) -> float:
    assert isinstance(payload, Mapping)
    return float(payload["seconds"])


async def _die(payload: object, context: JobContext) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def _block(payload: object, context: JobContext) -> None:
    time.sleep(_seconds(payload))


async def _stubborn(payload: object, context: JobContext) -> None:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


async def _hide_in_thread(payload: object, context: JobContext) -> None:
    """The task can be cancelled; the thread below it cannot."""
    await asyncio.to_thread(time.sleep, 3600)


async def _linger(payload: object, context: JobContext) -> int:
    """The first attempt never ends; a later one does at once."""
    if context.lease.fence == 1:
        await asyncio.sleep(3600)
    return context.lease.fence


async def _store_slowly(payload: object, context: JobContext) -> object:
    """Stays between its bytes and its result: the moment at which a lost lease hurts most."""
    text = f"{context.lease.job_id} {context.lease.fence}"
    artifact = await context.put_artifact(text.encode(), filename="slow.txt")
    await asyncio.sleep(_seconds(payload))
    return {"sha256": artifact.sha256, "size_bytes": artifact.size_bytes}


async def _unwind_slowly(payload: object, context: JobContext) -> int:
    """Takes a second to give up its first attempt, and two to finish a later one."""
    if context.lease.fence > 1:
        await asyncio.sleep(2.0)
        return context.lease.fence
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(1.0)
    return 0


async def _family(payload: object, context: JobContext) -> int:
    assert isinstance(payload, Mapping)
    child = await context.run_child(["sh", "-c", FAMILY_SCRIPT, "family", str(payload["pid_file"])])
    return child.returncode


async def _leave(payload: object, context: JobContext) -> None:
    sys.exit(3)


async def _cancel_itself(payload: object, context: JobContext) -> None:
    """As a handler does that awaits a task which somebody cancelled."""
    raise asyncio.CancelledError


async def _answer_unstorable(payload: object, context: JobContext) -> str:
    return "half a character: \ud800"
