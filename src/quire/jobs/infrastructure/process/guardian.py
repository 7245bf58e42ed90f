"""Kills the process groups of a worker that died without a word. The kernel's own death signal reaches a child but
not what the child started, so one small process outlives the worker just long enough to end them all."""

from __future__ import annotations

import contextlib
import subprocess
import weakref

# Reads `+ GROUP` and `- GROUP`; the end of its input means that the worker is gone, however it went.
SCRIPT = """
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
    case $sign in
        +) groups="$groups$group " ;;
        -) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Guardian:
    """Used from one thread."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        self._groups.add(group)
        if not self._tell("+", group):
            self._start()

    def release(self, group: int) -> None:
        """The group is dead; its number may soon be somebody else's."""
        self._groups.discard(group)
        self._tell("-", group)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Unbuffered: a line that is still here when the worker dies would never be read.
            bufsize=0,
            # A signal to the worker's group must not end its guardian.
            start_new_session=True,
        )
        weakref.finalize(self, _dismiss, self._process)
        for group in self._groups:
            self._tell("+", group)

    def _tell(self, sign: str, group: int) -> bool:
        if self._process is None or self._process.stdin is None:
            return False
        try:
            self._process.stdin.write(f"{sign} {group}\n".encode())
        except OSError:
            return False
        return True


def _dismiss(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.communicate()
