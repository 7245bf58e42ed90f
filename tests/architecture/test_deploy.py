"""The files that put Quire on other machines agree with the code: names, times, versions, programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from quire.entrypoints.processes import API_GRACE_SECONDS, WORKER_MARGIN_SECONDS
from quire.runtime.settings import Settings

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
NAMES = {str(field.alias) for field in Settings.model_fields.values()}
# The S3 client's, and those that compose itself reads.
OTHER_NAMES = re.compile(
    r"AWS_\w+|POSTGRES_PASSWORD|RABBITMQ_PASSWORD|COMPOSE_PROFILES|WORKERS|QUIRE_VERSION"
)


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return loaded


def settings_of(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def grace_seconds(process: str) -> float:
    worker = Settings().shutdown_grace_seconds + WORKER_MARGIN_SECONDS
    return worker if process == "worker" else API_GRACE_SECONDS


@pytest.mark.parametrize("process", ["api", "worker"])
def test_nobody_is_killed_within_his_grace(process: str) -> None:
    assert seconds(compose()["services"][process]["stop_grace_period"]) > grace_seconds(process)
    (unit,) = [unit for unit in UNITS if unit.name.startswith(f"quire-{process}")]
    assert seconds(settings_of(unit)["TimeoutStopSec"][0]) > grace_seconds(process)


def test_processes_of_compose_are_commands_and_their_names_are_settings() -> None:
    services = {name: one for name, one in compose()["services"].items() if "build" in one}
    assert set(services) == {"migrate", "api", "worker"}
    for name, service in services.items():
        assert service["command"] == [name]
        assert [word for word in service["environment"] if not known(word)] == []
        assert "no-new-privileges:true" in service["security_opt"]
        assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)


def test_example_environment_holds_what_compose_asks_for() -> None:
    asked = set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.yaml").read_text()))
    lines = (ROOT / "deploy" / "compose.env.example").read_text().splitlines()
    given = {line.lstrip("# ").partition("=")[0] for line in lines if re.match(r"(# )?[A-Z_]+=", line)}
    assert asked <= given
    assert [name for name in given if not known(name)] == []


def known(name: str) -> bool:
    return name in NAMES or OTHER_NAMES.fullmatch(name) is not None


def test_browser_may_make_its_sandbox_in_a_container() -> None:
    profile = json.loads((ROOT / "deploy" / "seccomp" / "print.json").read_text())
    denied = {name for group in profile["syscalls"] for name in group["names"]}
    assert not denied & {"clone", "clone3", "unshare", "chroot", "setns", "prctl", "seccomp"}
    assert {"mount", "kexec_load", "init_module", "bpf", "keyctl"} <= denied


def test_image_and_checkout_install_with_the_same_uv() -> None:
    pinned = re.compile(r"UV_VERSION=([\d.]+)")
    texts = (ROOT / "Dockerfile").read_text(), (ROOT / "scripts" / "setup.sh").read_text()
    assert len({pinned.findall(text)[0] for text in texts}) == 1


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit_runs_without_rights_and_starts_again(unit: Path) -> None:
    options = settings_of(unit)
    assert options["NoNewPrivileges"] == ["yes"]
    assert options["CapabilityBoundingSet"] == [""]
    assert options["ProtectSystem"] == ["strict"]
    assert options["User"] == ["quire"]
    if options.get("Type") != ["oneshot"]:
        assert (options["Restart"], options["StartLimitIntervalSec"]) == (["always"], ["0"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here to judge its units")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        # The one thing it would miss here: the installed program.
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/quire/bin/quire", "/bin/true"))
    copies = sorted(map(str, tmp_path.iterdir()))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *copies], capture_output=True, text=True, check=False
    )
    # It also looks at what the machine itself has.
    assert [line for line in verified.stderr.splitlines() if "quire" in line] == []
    assert verified.returncode == 0, verified.stderr
