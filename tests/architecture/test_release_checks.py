"""The scripts that try a release on a bare machine and in its image: they follow compose.yaml, and leave nothing behind
when they are interrupted. The soak runs do what they check for real."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from scripts.composed_services import (
    COMPOSE,
    LASTING,
    CheckFailedError,
    container_options,
    interpolated,
    made_up_environment,
)

ROOT = Path(__file__).parents[2]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
# A script that sources what both have in common and stays in namespaces of its own until it is told to end.
STAYING = """
set -euo pipefail
. scripts/debian_root.sh
make_work
mkdir "$WORK/mounted"
alone sh -c 'mount -t tmpfs tmpfs "$1" && echo "$1" && exec sleep 300' sh "$WORK/mounted"
"""


def services() -> dict[str, dict[str, object]]:
    text = COMPOSE.read_text()
    loaded: dict[str, dict[str, object]]
    loaded = interpolated(yaml.safe_load(text), made_up_environment(text))["services"]
    return loaded


def test_image_check_runs_every_process_with_what_compose_says_of_it() -> None:
    composed = services()
    assert {*LASTING, "migrate"} == {name for name, one in composed.items() if "build" in one}
    for name in (*LASTING, "migrate"):
        options = container_options(composed[name])
        assert {"--cap-drop=ALL", "--read-only", "--tmpfs=/tmp", "--init"} <= set(options)
        assert "--security-opt=no-new-privileges" in options
        for option in options:
            assert "${" not in option
            if option.startswith("--security-opt=seccomp="):
                assert Path(option.rpartition("=")[2]).is_file()
    worker = container_options(composed["worker"])
    assert "--env=RESULTS_DIR=/app/results" in worker
    assert "--volume=quire-image-check-results:/app/results" in worker


def test_word_of_compose_that_the_image_check_would_ignore_is_an_error() -> None:
    with pytest.raises(CheckFailedError, match="privileged"):
        container_options({**services()["worker"], "privileged": True})


@as_root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_interrupted_check_leaves_no_process_no_mount_and_no_file(
    tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        ["env", "--default-signal", "bash", "-c", STAYING],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as script:
        assert script.stdout is not None
        mounted = script.stdout.readline().strip()
        assert mounted.startswith(str(tmp_path))
        inside = [
            int(pid) for pid in Path(f"/proc/{script.pid}/task/{script.pid}/children").read_text().split()
        ]
        assert inside
        script.send_signal(number)
        # Its output is closed when the last process inside has ended.
        assert script.stdout.read() == ""
        assert script.wait(60) == 128 + number
    assert not any(Path(f"/proc/{pid}").exists() for pid in inside)
    assert mounted not in Path("/proc/mounts").read_text()
    assert list((tmp_path / "quire").iterdir()) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@as_root
@pytest.mark.skipif(
    not (shutil.which("podman") or shutil.which("docker")), reason="nothing to run images with"
)
def test_image_prints_and_converts_as_its_host_does() -> None:
    checked = subprocess.run(["scripts/image-check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("same bytes as the host's") == 3


@pytest.mark.soak
@pytest.mark.timeout(3600)
@as_root
@pytest.mark.skipif(shutil.which("debootstrap") is None, reason="nothing to make a machine with")
def test_bare_machine_starts_and_shows_the_committed_release() -> None:
    checked = subprocess.run(
        ["scripts/fresh-machine-check", "--no-test"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
