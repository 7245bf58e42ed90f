"""What setup does to a machine: it asks for what is missing, trusts the certificates that the machine trusts, installs
the tests' servers without starting them, and leaves the machine's own rules."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "without_daemons.sh"
SYSTEM_PROGRAMS = (Path("/usr/bin"), Path("/bin"), Path("/usr/sbin"), Path("/sbin"))
# What a package's script asks, by either of Debian's two commands.
ASK = '"$POLICY_RC_D" --quiet rabbitmq-server start 2; echo $?; "$POLICY_RC_D" redis-server.service restart; echo $?; '
ASK_OTHERS = '"$POLICY_RC_D" ssh restart; echo $?; '
# What Debian would not do without a policy: a service that is switched off, or a system without any.
ASK_DISABLED = '"$POLICY_RC_D" cron "(start)" unknown; echo $?'


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy-rc.d"


def environment(policy: Path) -> dict[str, str]:
    return {**os.environ, "POLICY_RC_D": str(policy)}


def run(policy: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "sh", "-c", command],
        env=environment(policy),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_servers_of_the_tests_may_not_start_while_they_are_installed_and_others_may(policy: Path) -> None:
    assert run(policy, ASK + ASK_OTHERS).stdout.split() == ["101", "101", "0"]
    assert not policy.exists()


def test_installation_starts_nothing_that_it_would_not_start_anyway(policy: Path) -> None:
    assert run(policy, ASK_DISABLED).stdout.split() == ["101"]


def test_failed_installation_leaves_no_policy_and_keeps_its_exit_code(policy: Path) -> None:
    assert run(policy, 'test -x "$POLICY_RC_D" || exit 1; exit 100').returncode == 100
    assert not policy.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signal_takes_the_policy_away_after_the_installation_has_ended(
    policy: Path, number: signal.Signals
) -> None:
    command = ["sh", "-c", 'trap "" INT; echo begun; read line; test -x "$POLICY_RC_D" && echo held']
    with subprocess.Popen(
        # Under `nohup` the tests themselves ignore one of them, and would hand that down.
        ["env", "--default-signal", SCRIPT, *command],
        env=environment(policy),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        said, _ = process.communicate("go on\n", timeout=60)
    assert (said, process.returncode) == ("held\n", 128 + number)
    assert not policy.exists()


def test_policy_that_the_machine_has_stays_and_rules(policy: Path) -> None:
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o755)
    assert run(policy, ASK).stdout.split() == ["104", "104"]
    assert policy.read_text() == "#!/bin/sh\nexit 104\n"


def test_link_that_leads_nowhere_is_not_written_through(policy: Path) -> None:
    policy.symlink_to(policy.with_name("alternative"))
    assert run(policy, "true").returncode == 0
    assert policy.is_symlink()
    assert not policy.exists()


def test_policy_that_a_killed_run_left_is_taken_away(policy: Path) -> None:
    """It holds the word that tells it from others."""
    assert run(policy, f'cp "$POLICY_RC_D" {policy}.left').returncode == 0
    policy.with_name("policy-rc.d.left").rename(policy)
    assert run(policy, "true").returncode == 0
    assert not policy.exists()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What setup reads of one, with nothing installed."""
    for name in ("uv.lock", "pyproject.toml", "scripts/setup.sh"):
        (tmp_path / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / "checkout" / name)
    return tmp_path / "checkout"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def set_up(checkout: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "scripts" / "setup.sh"],
        env={"PATH": str(programs), "HOME": str(checkout)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def programs_without(missing: str, tmp_path: Path) -> Path:
    """This machine's, but for one, and an `id` that is nobody special."""
    programs = tmp_path / "programs"
    program(programs / "id", "echo 1000")
    for path in (path for directory in SYSTEM_PROGRAMS for path in directory.iterdir()):
        if path.name != missing and not (programs / path.name).is_symlink() and path.name != "id":
            (programs / path.name).symlink_to(path)
    return programs


def test_setup_asks_for_the_program_that_the_tour_uses(checkout: Path, tmp_path: Path) -> None:
    done = set_up(checkout, programs_without("curl", tmp_path))
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "apt-get" in line]
    assert "curl" in line.split()


def test_setup_trusts_the_certificates_that_the_machine_trusts(checkout: Path, tmp_path: Path) -> None:
    """uv brings a list of its own, on which no private authority is."""
    programs = programs_without("", tmp_path)
    for name in ("quire", "python"):
        program(checkout / ".venv" / "bin" / name, "exit 0")
    version = re.findall(r"UV_VERSION=(.*)", (ROOT / "scripts" / "setup.sh").read_text())[0]
    program(
        checkout / ".venv" / "bin" / "uv",
        f'echo "uv {version}"; echo "certs=$UV_SYSTEM_CERTS" >> "$HOME/said"',
    )
    done = set_up(checkout, programs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (checkout / "said").read_text().split()[-1] == "certs=true"
