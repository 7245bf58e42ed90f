"""Everything one browser keeps on disk, in one directory that goes away whole, even when the worker is killed."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
from pathlib import Path

from quire.render.infrastructure.chromium.font_set import install_fonts
from quire.runtime.account import Account

# Waits for the end of its input, which is the end of the worker whatever ended it. The browser may be starting just
# then. Moving the directory away decides it at one moment: either the launch script has written its process id there
# and is killed, or it finds no place to write it and ends. What a dying browser made anew goes too.
WATCHER = """
while read -r _; do :; done
mv "$1" "$1.gone"
if read -r pid <"$1.gone/pid"; then
    tries=0
    while kill -s KILL -- "-$pid" && [ "$tries" -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
fi
rm -rf "$1.gone" "$1"
"""
OWNED = ("home", "profile", "cache", "tmp")


class PrivateDirectory:
    def __init__(self, path: Path, fonts_config: Path, watcher: subprocess.Popen[bytes]) -> None:
        self.path = path
        self.fonts_config = fonts_config
        self._watcher = watcher

    @classmethod
    async def create(cls, parent: Path, account: Account) -> PrivateDirectory:
        return await asyncio.to_thread(cls._create, parent, account)

    @classmethod
    def _create(cls, parent: Path, account: Account) -> PrivateDirectory:
        path = parent / f"quire-browser-{secrets.token_hex(8)}"
        watcher = _watch(path)  # before there is anything to remove: a worker may be killed at any line
        try:
            path.mkdir(mode=0o700)
            path.chmod(0o711)  # the browser's user may pass through, not look around
            for name in OWNED:
                (path / name).mkdir(mode=0o700)
            account.give(path / name for name in OWNED)
            return cls(path, install_fonts(path, path / "cache"), watcher)
        except BaseException:
            watcher.communicate()
            raise

    @property
    def environment(self) -> dict[str, str | float | bool]:
        """All the browser is told about the machine."""
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.path / "home"),
            "TMPDIR": str(self.path / "tmp"),
            "XDG_CACHE_HOME": str(self.path / "cache"),
            "XDG_CONFIG_HOME": str(self.path / "home"),
            "FONTCONFIG_FILE": str(self.fonts_config),
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            "DBUS_SYSTEM_BUS_ADDRESS": "disabled:",
            "TZ": "UTC",
            "LANG": "C.UTF-8",
        }

    def process_id(self) -> int:
        """Also its session and process group: the driver starts the launch script as a leader."""
        return int((self.path / "pid").read_text())

    async def remove(self) -> None:
        """Kills what is left of the browser and removes the directory; the same way as after a killed worker."""
        if self._watcher.stdin is not None:
            self._watcher.stdin.close()
        await asyncio.to_thread(self._watcher.wait)


def _watch(path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", WATCHER, "watcher", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # Ctrl-C is for the worker; the watcher outlives it
    )
