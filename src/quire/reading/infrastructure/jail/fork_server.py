"""The process that documents are read under: it has loaded everything once, gives up network and rights, and forks one
child per document. No child sees another's, and what a child did to its memory dies with it.

Requests come over one socket with two files each, the document and the answer; how each child ended goes back. A
request to end a child has no files.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from quire.reading.infrastructure.jail import cell
from quire.runtime.isolation import give_up_rights

MESSAGE_MAX_BYTES = 65_536

Task = Callable[[Any, int, dict[str, Any]], bytes]


class ForkServer:
    def __init__(self, control: socket.socket, task: Task) -> None:
        self._control = control
        self._task = task
        self._children: dict[int, int] = {}
        self._ends, self._wake = socket.socketpair()
        for end in (self._ends, self._wake):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        """Until whoever asks is gone."""
        self._tell({"ready": True})
        waiting = selectors.DefaultSelector()
        waiting.register(self._control, selectors.EVENT_READ, self._take)
        waiting.register(self._ends, selectors.EVENT_READ, self._reap)
        asked = True
        while asked:
            for key, _ in waiting.select():
                asked = key.data() and asked

    def _take(self) -> bool:
        message, files, _, _ = socket.recv_fds(self._control, MESSAGE_MAX_BYTES, 2)
        if not message:
            return False
        request = json.loads(message)
        if "end" in request:
            self._end(request["end"])
            return True
        pid = os.fork()
        if pid == 0:
            self._be_child(request, *files)
        self._children[pid] = request["id"]
        for file in files:
            os.close(file)
        return True

    def _end(self, number: int) -> None:
        """A child that is not reaped yet keeps its process id, so nobody else can be hit."""
        for pid, wanted in self._children.items():
            if wanted == number:
                os.kill(pid, signal.SIGKILL)

    def _be_child(self, request: dict[str, Any], document: int, answer: int) -> None:
        try:
            self._control.close()
            self._ends.close()
            cell.work(self._task, request, document, answer)
        finally:
            # Nothing of the server's own may run in here, whatever happened.
            os._exit(1)

    def _reap(self) -> bool:
        self._ends.recv(4096)
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            self._tell({"id": self._children.pop(pid), "status": status})
        return True

    def _tell(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())


def main() -> None:
    """`fork_server MODULE FD`: the module's `task` does the work and its `warm_up` loads what that will need."""
    module = importlib.import_module(sys.argv[1])
    module.warm_up()
    give_up_rights()
    # What is loaded by now is shared with every child, unless a collection writes into it.
    gc.collect()
    gc.freeze()
    ForkServer(socket.socket(fileno=int(sys.argv[2])), module.task).serve()


if __name__ == "__main__":
    main()
