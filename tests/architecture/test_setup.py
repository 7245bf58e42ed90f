"""What setup does to a machine: the tests' servers are installed and not started, and the machine's own rules stay."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "without_daemons.sh"
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
