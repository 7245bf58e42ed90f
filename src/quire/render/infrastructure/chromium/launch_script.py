"""The program Playwright starts in the browser's place: takes away network, rights and identity, then becomes it.

Every step is an `exec`, so one process id stands for all of them and a signal reaches the browser itself.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from pathlib import Path

from quire.render.domain.errors import UnsupportedPlatformError
from quire.runtime.account import Account

TOOLS = ("unshare", "setpriv")
# Printing takes all the processor there is; whoever only asks for a document should not feel it.
NICENESS = 15


def isolation_command(account: Account) -> list[str]:
    """An own network namespace with no interface up, no way to gain rights, and death with the driver.

    setpriv comes after unshare: the death signal is forgotten whenever a process changes who it is.
    """
    safe = ["--no-new-privs", "--pdeathsig", "KILL", "--"]
    if account.is_own:
        return ["unshare", "--user", "--map-current-user", "--net", "--", "setpriv", *safe]
    identity = [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    rights = ["--bounding-set=-all", "--inh-caps=-all"]
    return ["unshare", "--net", "--", "setpriv", *identity, *rights, *safe]


def write_launch_script(home: Path, executable: Path, account: Account) -> Path:
    script = home / "browser"
    profile = shlex.quote(f"--user-data-dir={home / 'profile'}")
    pid = shlex.quote(str(home / "pid"))
    script.write_text(
        f"""#!/bin/sh
# The profile Playwright made, still empty, lies outside the private directory and belongs to the worker.
set -eu
for argument do
    shift
    case $argument in
        --user-data-dir=*)
            rmdir "${{argument#*=}}"
            argument={profile}
            ;;
    esac
    set -- "$@" "$argument"
done
ulimit -c 0
# Sessions are weighed against each other and processes inside one: where the kernel does both, both step back.
{{ echo {NICENESS} >/proc/self/autogroup; }} 2>/dev/null || true
# At once and whole, or not at all: without the directory there is no worker either.
echo $$ >{pid}.new
mv {pid}.new {pid}
exec nice -n {NICENESS} {shlex.join([*isolation_command(account), str(executable)])} "$@"
""",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script


def check_programs(executable: Path) -> None:
    if not executable.exists():
        raise UnsupportedPlatformError(f"{executable} is missing: install chromium-headless-shell")
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise UnsupportedPlatformError(f"{tool} is missing: install util-linux")


async def check_isolation(account: Account, fonts_config: Path) -> None:
    """Tries it, for kernels, containers, policies and directory modes refuse it in many ways."""
    attempt = await asyncio.create_subprocess_exec(
        *isolation_command(account),
        *("test", "-r", str(fonts_config)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, complaint = await attempt.communicate()
    if attempt.returncode != 0:
        reason = complaint.decode(errors="replace").strip()[:300]
        raise UnsupportedPlatformError(
            f"a browser cannot be shut off from the network here: {reason}"
            if reason
            else f"the browser's user cannot enter {fonts_config.parent.parent}"
        )
