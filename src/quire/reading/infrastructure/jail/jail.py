"""Our end of the jail: starts the fork server, hands it documents, takes the answers, starts another when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import tempfile
from typing import IO, Any

from quire.reading.domain.errors import JailUnavailableError, ReaderCrashedError, ReadingTooCostlyError
from quire.reading.domain.limits import ReadingLimits
from quire.reading.infrastructure.jail.answer import Answer
from quire.runtime.errand import finish_errand
from quire.runtime.isolation import BARE_ENVIRONMENT, DIE_WITH_PARENT, without_network
from quire.runtime.priority import keep_back
from quire.runtime.python_command import python_module

SERVER = "quire.reading.infrastructure.jail.fork_server"
START_SECONDS = 60.0
# The kernel ends a child at its time; this much later we stop believing in that.
PATIENCE_SECONDS = 10.0
# A child that was to be ended is gone at once; a server that has not said so by now hears nothing any more.
END_SECONDS = 10.0
SEND_AGAIN_SECONDS = 0.01
MESSAGE_MAX_BYTES = 65_536
OUT_OF_TIME = (signal.SIGALRM, signal.SIGXCPU)
# How PDFium, and C++ as a whole, ends where it asked for memory and got none; and how the system's loader does, when
# that happens to a function called for the first time. Our own child never ends by that number.
OUT_OF_MEMORY = signal.SIGABRT
LOADER_FAILED = 127
# Nothing that a document can do ends its child by these: the kernel was short of memory, or somebody had a reason.
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Jail:
    """`module` is what the children run: its `task(content, size_bytes, arguments) -> bytes`."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._ready: asyncio.Future[None] | None = None
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._number = 0
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def start(self) -> None:
        async with self._turn:
            if self._control is not None:
                return
            await self._end()
            self._process, self._control = await _started(self._module)
            loop = asyncio.get_running_loop()
            self._ready = loop.create_future()
            loop.add_reader(self._control.fileno(), self._listen)
            try:
                async with asyncio.timeout(START_SECONDS):
                    await self._ready
            except (TimeoutError, ConnectionError):
                await self._end()
                raise JailUnavailableError("the reader does not start on this machine") from None

    async def run(self, document: int, arguments: dict[str, Any], limits: ReadingLimits) -> IO[bytes]:
        """The task's answer, in a file that is the caller's to close. However this ends, also by a cancellation, the
        child is gone by then."""
        await self.start()
        loop = asyncio.get_running_loop()
        self._number += 1
        number, ended = self._number, loop.create_future()
        source, sink = os.pipe()
        try:
            self._ask(number, document, sink, arguments, limits)
        except BaseException:
            os.close(source)
            raise
        finally:
            os.close(sink)
        self._ends[number] = ended
        answer = Answer(limits.output_bytes)
        try:
            async with asyncio.timeout(limits.wall_seconds + PATIENCE_SECONDS):
                await answer.read(source)
                # Shielded, because whoever ends the child waits for the same word of its end.
                status = await asyncio.shield(ended)
        except BaseException as error:
            answer.close()
            await finish_errand(self._end_child(number, ended))
            if isinstance(error, TimeoutError):
                raise ReadingTooCostlyError(f"not read within {limits.wall_seconds:g} s") from None
            raise
        finally:
            self._ends.pop(number, None)
        return _judged(answer, status)

    def _ask(
        self, number: int, document: int, sink: int, arguments: dict[str, Any], limits: ReadingLimits
    ) -> None:
        request = {
            "id": number,
            "arguments": arguments,
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": limits.cpu_seconds,
            "wall_seconds": limits.wall_seconds,
        }
        if self._control is None:
            raise JailUnavailableError("the reader has just died")
        # Another description of the same file, so that the child can do nothing but read it.
        reading = os.open(f"/proc/self/fd/{document}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], [reading, sink])
        except OSError as error:
            raise JailUnavailableError("the reader takes no more at the moment") from error
        finally:
            os.close(reading)

    async def _end_child(self, number: int, ended: asyncio.Future[int]) -> None:
        """Returns when it is dead and reaped. A server that does not answer is ended with all its children."""
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._send_end(number, ended)
                await asyncio.wait({ended})
        except (TimeoutError, OSError):
            await self._give_up()
        if ended.done() and not ended.cancelled():
            ended.exception()  # the server's death, which the caller hears of in its own way

    async def _send_end(self, number: int, ended: asyncio.Future[int]) -> None:
        while self._control is not None and not ended.done():
            try:
                self._control.send(json.dumps({"end": number}).encode())
                return
            except BlockingIOError:
                await asyncio.sleep(SEND_AGAIN_SECONDS)

    def _listen(self) -> None:
        assert self._control is not None
        try:
            message = self._control.recv(MESSAGE_MAX_BYTES)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._drop()
            return
        said = json.loads(message)
        waiter = self._ready if said.get("ready") else self._ends.get(said.get("id"))
        if waiter is not None and not waiter.done():
            waiter.set_result(said.get("status"))

    def _drop(self) -> None:
        """The server is gone, and its children with it; the next document starts another."""
        control, self._control = self._control, None
        if control is not None:
            asyncio.get_running_loop().remove_reader(control.fileno())
            control.close()
        for waiter in (self._ready, *self._ends.values()):
            if waiter is not None and not waiter.done():
                waiter.set_exception(JailUnavailableError("the reader died"))

    async def _give_up(self) -> None:
        async with self._turn:
            await self._end()

    async def _end(self) -> None:
        self._drop()
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def close(self) -> None:
        await self._give_up()


async def _started(module: str) -> tuple[asyncio.subprocess.Process, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    try:
        process = await asyncio.create_subprocess_exec(
            *without_network(),
            *DIE_WITH_PARENT,
            *python_module(SERVER, module, str(theirs.fileno())),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=BARE_ENVIRONMENT,
            cwd=tempfile.gettempdir(),
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    keep_back(process.pid)
    return process, ours


def _judged(answer: Answer, status: int) -> IO[bytes]:
    """A whole answer counts; else how the child ended tells why there is none."""
    refusal = answer.refusal()
    if answer.is_whole and refusal is None:
        return answer.body()
    answer.close()
    if refusal is not None:
        raise refusal
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    if ended_by in OUT_OF_TIME:
        raise ReadingTooCostlyError("reading it takes more time than it may")
    if ended_by == OUT_OF_MEMORY or os.waitstatus_to_exitcode(status) == LOADER_FAILED:
        raise ReadingTooCostlyError("reading it takes more memory than it may")
    if ended_by in FROM_OUTSIDE:
        raise JailUnavailableError("its reader was ended from outside")
    raise ReaderCrashedError("its reader crashed")
