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

from quire.entrypoints.processes import API_GRACE_SECONDS, GATEWAY_GRACE_SECONDS, WORKER_MARGIN_SECONDS
from quire.runtime.settings import Settings

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
NAMES = {str(field.alias) for field in Settings.model_fields.values()}
# Where a name ends so, its value is nobody's to read.
SECRET_NAME = re.compile(r"\w*(PASSWORD|PASS|TOKEN|SECRET|KEY|KEY_ID|KEY_ACCEPTED)")
# Compose stops before it starts anything when the value is missing or empty.
ASKED_FOR = re.compile(r"\$\{\w+:\?[^}]+\}")
# A second key is there only while keys are changed.
MAY_BE_EMPTY = {"QUIRE_SECRET_KEY_ACCEPTED": "${QUIRE_SECRET_KEY_ACCEPTED:-}"}
# The S3 client's, and those that compose itself reads.
OTHER_NAMES = re.compile(r"AWS_\w+|POSTGRES_PASSWORD|RABBITMQ_PASSWORD|COMPOSE_FILE|WORKERS|QUIRE_VERSION")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return loaded


def parts() -> dict[str, dict[str, Any]]:
    """compose.yaml, and by name the files that a person lays beside it."""
    paths = [ROOT / "compose.yaml", *sorted((ROOT / "deploy" / "compose").glob("*.yaml"))]
    return {path.stem: yaml.safe_load(path.read_text()) for path in paths}


def written() -> str:
    paths = [ROOT / "compose.yaml", *sorted((ROOT / "deploy" / "compose").glob("*.yaml"))]
    return "\n".join(path.read_text() for path in paths)


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
    return {"api": API_GRACE_SECONDS, "gateway": GATEWAY_GRACE_SECONDS, "worker": worker}[process]


@pytest.mark.parametrize("process", ["api", "gateway", "worker"])
def test_nobody_is_killed_within_his_grace(process: str) -> None:
    assert seconds(compose()["services"][process]["stop_grace_period"]) > grace_seconds(process)
    (unit,) = [unit for unit in UNITS if unit.name.startswith(f"quire-{process}")]
    assert seconds(settings_of(unit)["TimeoutStopSec"][0]) > grace_seconds(process)


def test_processes_of_compose_are_commands_and_their_names_are_settings() -> None:
    services = {name: one for name, one in compose()["services"].items() if "build" in one}
    assert set(services) == {"migrate", "api", "gateway", "worker"}
    for name, service in services.items():
        assert service["command"] == [name]
        assert [word for word in service["environment"] if not known(word)] == []
        assert "no-new-privileges:true" in service["security_opt"]
        assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)


def test_example_environment_holds_what_compose_asks_for() -> None:
    asked = set(re.findall(r"\$\{(\w+):\?", written()))
    lines = (ROOT / "deploy" / "compose.env.example").read_text().splitlines()
    given = {line.lstrip("# ").partition("=")[0] for line in lines if re.match(r"(# )?[A-Z_]+=", line)}
    assert asked <= given
    assert [name for name in given if not known(name)] == []


def test_every_lasting_service_of_compose_is_looked_after() -> None:
    services = [item for part in parts().values() for item in part["services"].items()]
    for name, service in services:
        if service.get("restart", "no") == "no":
            assert name == "migrate" or "image" not in service, name
            continue
        check = service["healthcheck"]
        assert check["test"][0] in ("CMD", "CMD-SHELL"), name
        assert set(check) == {"test", "interval", "timeout", "retries"}, name


def test_looks_at_our_own_processes_go_where_they_listen() -> None:
    services, ports = compose()["services"], Settings()
    worker_port = services["worker"]["environment"]["QUIRE_METRICS_PORT"]
    asked = {"api": f":{ports.port}/readyz", "gateway": f":{ports.gateway_port}/ready"}
    for name, where in {**asked, "worker": f":{worker_port}/readyz"}.items():
        assert f"http://127.0.0.1{where}'" in services[name]["healthcheck"]["test"][-1]


def test_services_of_compose_wait_only_for_what_is_there() -> None:
    services = compose()["services"]
    for service in services.values():
        for other, wanted in service.get("depends_on", {}).items():
            reports = "healthcheck" in services[other]
            assert wanted["condition"] == ("service_healthy" if reports else "service_completed_successfully")


def test_compose_holds_no_secret() -> None:
    """Each comes from the environment, without a value to fall back on, and is not empty."""
    found = [
        (name, str(value))
        for part in parts().values()
        for service in part["services"].values()
        for name, value in service.get("environment", {}).items()
        if SECRET_NAME.fullmatch(name)
    ]
    names = {"POSTGRES_PASSWORD", "QUIRE_SECRET_KEY", "QUIRE_GATEWAY_TOKEN", "RABBITMQ_DEFAULT_PASS"}
    assert names <= {name for name, _ in found}
    unasked = {name: value for name, value in found if not ASKED_FOR.fullmatch(value)}
    assert unasked == MAY_BE_EMPTY
    text = written()
    assert re.findall(r"://\w+:(?!\$\{\w+:\?)[^@/\s]*@", text) == []
    assert re.findall(r'[kK]ey": "(?!\$\{\w+\}")', text) == []


def test_compose_opens_ports_to_its_own_host_alone() -> None:
    published = {name: one["ports"] for name, one in compose()["services"].items() if "ports" in one}
    assert set(published) == {"api", "s3"}
    assert [port for ports in published.values() for port in ports if not port.startswith("127.0.0.1:")] == []


def test_gateway_knows_nothing_that_a_hostile_file_could_steal() -> None:
    services = compose()["services"]
    secrets = [name for name in services["gateway"]["environment"] if SECRET_NAME.fullmatch(name)]
    assert secrets == ["QUIRE_GATEWAY_TOKEN"]
    assert not {"DATABASE_URL", "QUIRE_BROKER_URL"} & set(services["gateway"]["environment"])
    asked = services["worker"]["environment"]
    assert asked["QUIRE_GATEWAY_TOKEN"] == services["gateway"]["environment"]["QUIRE_GATEWAY_TOKEN"]


def test_compose_believes_its_own_gateway_and_no_other() -> None:
    own = f"http://gateway:{Settings().gateway_port}"
    named = {
        name: service["environment"]
        for name, part in parts().items()
        for service in part["services"].values()
        if "GATEWAY_URL" in service.get("environment", {})
    }
    asked = {name: (one["GATEWAY_URL"], one["GATEWAY_TRUSTED"]) for name, one in named.items()}
    assert asked == {
        "compose": (own, "true"),
        "other-gateway": ("${GATEWAY_URL:?set it in .env}", "false"),
    }


def test_uploads_and_results_are_where_the_specification_puts_them() -> None:
    """The image names the directories and owns them; compose keeps them, and shows each to those who need it."""
    image = (ROOT / "Dockerfile").read_text()
    places = {"UPLOADS_DIR": "/app/uploads", "RESULTS_DIR": "/app/results"}
    for name, place in places.items():
        assert f"{name}={place}" in image
        assert re.search(rf"install -d -o quire .*{place}\b", image)
    services = compose()["services"]
    for name in ("api", "worker"):
        assert places.items() <= services[name]["environment"].items()
    assert services["api"]["volumes"] == ["uploads:/app/uploads"]
    assert services["worker"]["volumes"] == ["uploads:/app/uploads", "results:/app/results"]
    assert "volumes" not in services["gateway"]
    assert {"uploads", "results"} <= set(compose()["volumes"])


def test_image_has_one_browser_and_nothing_that_only_the_build_needs() -> None:
    final = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    installed = re.findall(r"apt-get install -y --no-install-recommends \\\n\s+(.*?) \\", final)[0].split()
    assert "chromium-headless-shell" in installed
    assert not {"chromium", "binutils", "python3-venv", "python3-pip"} & set(installed)
    assert re.findall(r"^COPY (.*)", final, re.MULTILINE) == ["--from=build /opt/quire /opt/quire"]


def known(name: str) -> bool:
    return name in NAMES or OTHER_NAMES.fullmatch(name) is not None


def test_browser_may_make_its_sandbox_in_a_container() -> None:
    profile = json.loads((ROOT / "deploy" / "seccomp" / "print.json").read_text())
    denied = {name for group in profile["syscalls"] for name in group["names"]}
    assert not denied & {"clone", "clone3", "unshare", "chroot", "setns", "prctl", "seccomp"}
    assert {"mount", "kexec_load", "init_module", "bpf", "keyctl"} <= denied


def test_who_shuts_children_in_may_do_so_in_a_container_and_nobody_else() -> None:
    services = compose()["services"]
    allowed = {name for name, one in services.items() if "seccomp=deploy/seccomp/print.json" in str(one)}
    assert allowed == {"gateway", "worker"}


def test_gateways_unit_cannot_read_what_the_others_know() -> None:
    (unit,) = [unit for unit in UNITS if unit.name == "quire-gateway.service"]
    options = settings_of(unit)
    assert options["EnvironmentFile"] == ["/etc/quire/gateway.env"]
    assert "-/etc/quire" in options["InaccessiblePaths"][0].split()
    assert "StateDirectory" not in options


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
