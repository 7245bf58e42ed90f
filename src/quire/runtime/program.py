"""What a supervisor can run: one process with a name, a log and a way to be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quire.runtime.log_file import LogFile


class Program(Protocol):
    """Something that runs as one process. `launch` SHALL spawn and return without waiting for readiness."""

    @property
    def name(self) -> str: ...
    @property
    def stop_signal(self) -> signal.Signals: ...
    @property
    def kill_signal(self) -> signal.Signals: ...
    @property
    def grace_seconds(self) -> float: ...
    @property
    def log(self) -> LogFile: ...
    def launch(self) -> subprocess.Popen[bytes]: ...


@dataclass(frozen=True)
class Command:
    """A command line of our own. It gets SIGTERM when its supervisor dies, however that died."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: LogFile
    grace_seconds: float = 10.0
    stop_signal: signal.Signals = signal.SIGTERM
    kill_signal: signal.Signals = signal.SIGKILL

    def launch(self) -> subprocess.Popen[bytes]:
        log = self.log.open()
        try:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", *self.arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in a terminal reaches the whole foreground group; only the supervisor may act on it.
                start_new_session=True,
            )
        finally:
            os.close(log)
