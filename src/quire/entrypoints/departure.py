"""The end of a worker process. When all results are written and everything is closed, a handler that cannot be
cancelled (a task that swallows it, a thread that blocks) must not hold the process any longer."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor

import structlog

THREAD_PREFIX = "blocking"
LEAVE_SECONDS = 2.0

log = structlog.get_logger(__name__)


async def run_and_leave(main: Coroutine[object, object, None]) -> None:
    """Runs `main`; ends the process at once if something of it stays behind, which `asyncio.run` would wait for."""
    executor = ThreadPoolExecutor(thread_name_prefix=THREAD_PREFIX)
    asyncio.get_running_loop().set_default_executor(executor)
    exit_code = 1
    try:
        await main
        exit_code = 0
    finally:
        stragglers = await _remaining_tasks() + _remaining_threads(executor)
        if stragglers:
            log.error("left_behind", stragglers=stragglers, exc_info=exit_code != 0)
            sys.stderr.flush()
            os._exit(exit_code)


async def _remaining_tasks() -> list[str]:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    pending = (await asyncio.wait(tasks, timeout=LEAVE_SECONDS))[1] if tasks else set()
    return [task.get_name() for task in pending]


def _remaining_threads(executor: ThreadPoolExecutor) -> list[str]:
    executor.shutdown(wait=False, cancel_futures=True)
    deadline = time.monotonic() + LEAVE_SECONDS
    for thread in _executor_threads():
        # Blocks the loop, on which nothing is left to run.
        thread.join(max(0.0, deadline - time.monotonic()))
    return [thread.name for thread in _executor_threads()]


def _executor_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(THREAD_PREFIX)]
