"""Quire's own browser set-up, lent to the peers: same binary, flags, fonts, user, sandbox, and no network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Playwright

from quire.render.infrastructure.chromium import ChromiumOptions
from quire.render.infrastructure.chromium.account import choose_account
from quire.render.infrastructure.chromium.launch_script import write_launch_script
from quire.render.infrastructure.chromium.private_directory import PrivateDirectory

OPTIONS = ChromiumOptions()
FLAGS = ("--font-render-hinting=none", f"--js-flags=--max-old-space-size={OPTIONS.heap_mib}")


@dataclass(frozen=True)
class Sandbox:
    """A directory and a script that stands for the browser in it; one browser at a time."""

    path: Path
    script: Path
    environment: dict[str, str | float | bool]

    async def launch(self, driver: Playwright) -> Browser:
        return await driver.chromium.launch(
            executable_path=self.script, chromium_sandbox=True, env=self.environment, args=list(FLAGS)
        )

    def forget_process(self) -> None:
        """The directory's watcher kills what it finds here at the end; a process id may be another's by then."""
        (self.path / "pid").unlink(missing_ok=True)


@asynccontextmanager
async def sandbox() -> AsyncIterator[Sandbox]:
    account = choose_account()
    directory = await PrivateDirectory.create(OPTIONS.directory, account)
    try:
        script = write_launch_script(directory.path, OPTIONS.executable, account)
        yield Sandbox(directory.path, script, directory.environment)
    finally:
        await directory.remove()
