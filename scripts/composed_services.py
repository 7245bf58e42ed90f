"""For scripts/image_check.py: the services of compose.yaml, started from one image by podman or by Docker's compose."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import yaml

from quire.runtime.embedded_postgres import EmbeddedPostgres

ROOT = Path(__file__).parents[1]
COMPOSE = ROOT / "compose.yaml"
BIN = Path(sys.executable).parent
PROJECT = "quire-image-check"
READY_SECONDS = 180.0
# Podman's own, a million of each, are refused where the machine's are lower.
LIMITS = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
# Podman's profile lets everybody make namespaces; Docker's, which compose.yaml relies on, only those with a capability.
PODMAN_PROFILE = Path("/usr/share/containers/seccomp.json")
NAMESPACE_CALLS = {"clone", "clone3", "mount", "pivot_root", "setns", "umount", "umount2", "unshare"}
NAMESPACE_FLAGS = 0x7E020000
NOT_IMPLEMENTED = 38
# In the order in which compose's `depends_on` starts them.
LASTING = ("gateway", "api", "worker")
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
# What a service may say in compose.yaml, and has a meaning for one container on one host.
UNDERSTOOD = {
    "cap_drop",
    "command",
    "environment",
    "init",
    "read_only",
    "security_opt",
    "shm_size",
    "tmpfs",
    "volumes",
}
# The engine's: how it is built, started again, watched, published.
COMPOSED = {"build", "image", "restart", "ports", "depends_on", "stop_grace_period", "healthcheck", "deploy"}


class CheckFailedError(Exception):
    pass


def run(*command: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """What it printed; an exit code other than 0 is a failed check."""
    done = attempt(*command, environment=environment)
    if done.returncode:
        raise CheckFailedError(f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def attempt(
    *command: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    everything = {**os.environ, **(environment or {})}
    return subprocess.run(command, cwd=ROOT, env=everything, capture_output=True, text=True, check=False)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise CheckFailedError(f"{what}: not within {READY_SECONDS:.0f} s")
        time.sleep(0.2)


# compose.yaml


def made_up_environment(text: str) -> dict[str, str]:
    """A value for everything that compose asks for; the rest falls back on what is written there."""
    asked = {name for name, sign, _ in VARIABLE.findall(text) if sign == "?"}
    return {name: secrets.token_hex(16) for name in asked}


def interpolated(written: Any, given: dict[str, str]) -> Any:
    """As compose does it: after the file is read, in every text of it."""
    match written:
        case dict():
            return {name: interpolated(value, given) for name, value in written.items()}
        case list():
            return [interpolated(value, given) for value in written]
        case str():
            return VARIABLE.sub(lambda found: given.get(found[1], found[3] or ""), written).replace("$$", "$")
    return written


def container_options(service: dict[str, Any]) -> list[str]:
    """What `docker run` and `podman run` call what compose.yaml says. A word that is not known here is an error."""
    unknown = service.keys() - UNDERSTOOD - COMPOSED
    if unknown:
        raise CheckFailedError(f"compose.yaml says {sorted(unknown)}, which this check does not understand")
    limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
    options = [
        *(f"--env={name}={value}" for name, value in service["environment"].items()),
        *(f"--cap-drop={name}" for name in service["cap_drop"]),
        *(f"--security-opt={security_option(value)}" for value in service["security_opt"]),
        *(f"--tmpfs={place}" for place in service["tmpfs"]),
        *(f"--volume={PROJECT}-{volume}" for volume in service.get("volumes", [])),
    ]
    if service["read_only"]:
        # Podman would lay more places to write over it than compose says.
        options += ["--read-only", "--read-only-tmpfs=false"]
    if service["init"]:
        options.append("--init")
    if "shm_size" in service:
        options.append(f"--shm-size={service['shm_size']}")
    if "memory" in limits:
        options.append(f"--memory={limits['memory']}")
    return options


def security_option(value: str) -> str:
    kind, _, path = value.partition("=")
    return f"seccomp={ROOT / path}" if kind == "seccomp" else value.removesuffix(":true")


def docker_profile() -> dict[str, Any]:
    """Podman's, with what Docker's says of namespaces: a new process may have none, and the C library falls back from
    the call whose flags a filter cannot see."""
    profile: dict[str, Any] = json.loads(PODMAN_PROFILE.read_text())
    kept = [
        {**group, "names": [name for name in group["names"] if name not in NAMESPACE_CALLS]}
        for group in profile["syscalls"]
    ]
    flags = {"index": 0, "value": NAMESPACE_FLAGS, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    clone = {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [flags]}
    clone3 = {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": NOT_IMPLEMENTED}
    return {**profile, "syscalls": [*(group for group in kept if group["names"]), clone, clone3]}


# The two engines


class Podman:
    """Service by service, in the network that this process has: compose's names lead to loopback."""

    url = "http://127.0.0.1:8700"

    def __init__(self, image: str, given: dict[str, str]) -> None:
        self._image = image
        self._composed: dict[str, Any] = interpolated(yaml.safe_load(COMPOSE.read_text()), given)
        self._services = self._composed["services"]
        self._given = given
        self._profile = Path()

    @contextmanager
    def serving(self, directory: Path) -> Iterator[None]:
        self._remove()
        self._profile = directory / "seccomp.json"
        self._profile.write_text(json.dumps(docker_profile()))
        with ExitStack() as stack:
            stack.callback(self._remove)
            stack.enter_context(self._postgres(directory / "postgres"))
            stack.enter_context(self._s3(directory / "s3"))
            self.once("migrate", *self._services["migrate"]["command"])
            for name in LASTING:
                self._start(name)
            try:
                for name in LASTING:
                    wait_until(partial(self._is_healthy, name), f"{name} is healthy")
                yield
            except CheckFailedError as error:
                raise CheckFailedError(f"{error}\n{self._logs()}") from None

    def once(self, service: str, *command: str) -> str:
        return run(*self._run(service, "--rm"), self._image, *command)

    def inside(self, service: str, *command: str) -> str:
        return run("podman", "exec", f"{PROJECT}-{service}", *command)

    def _logs(self) -> str:
        said = {name: attempt("podman", "logs", "--tail=20", f"{PROJECT}-{name}") for name in LASTING}
        return "\n".join(f"{name} said last:\n{one.stdout}{one.stderr}" for name, one in said.items())

    def _start(self, service: str) -> None:
        composed = self._services[service]
        options = (f"--name={PROJECT}-{service}", "--detach", f"--restart={composed['restart']}")
        run(*self._run(service, *options), self._image, *composed["command"])

    def _run(self, service: str, *options: str) -> list[str]:
        names = (f"--add-host={name}:127.0.0.1" for name in self._services)
        engine = ["podman", "--runtime=runc", "run", "--network=host", *LIMITS, *names]
        composed = container_options(self._services[service])
        if not any(option.startswith("--security-opt=seccomp=") for option in composed):
            composed.append(f"--security-opt=seccomp={self._profile}")
        return [*engine, *composed, *options]

    def _is_healthy(self, service: str) -> bool:
        kind, *command = self._services[service]["healthcheck"]["test"]
        if kind != "CMD":
            raise CheckFailedError(f"{service}: a health check by {kind}")
        return attempt("podman", "exec", f"{PROJECT}-{service}", *command).returncode == 0

    def _remove(self) -> None:
        """Also what a killed run left."""
        for name in LASTING:
            attempt("podman", "rm", "--force", "--ignore", "--time=20", f"{PROJECT}-{name}")
        for volume in self._composed["volumes"]:
            attempt("podman", "volume", "rm", "--force", f"{PROJECT}-{volume}")

    @contextmanager
    def _postgres(self, directory: Path) -> Iterator[None]:
        """Ours, in the place of its image: compose's port, name and password."""
        directory.mkdir()
        (directory / "password").write_text(self._given["POSTGRES_PASSWORD"])
        (directory / "password").chmod(0o600)
        server = EmbeddedPostgres(directory, port=5432)
        server.start()
        try:
            yield
        finally:
            server.stop()

    @contextmanager
    def _s3(self, directory: Path) -> Iterator[None]:
        """The same server from the tests' packages, with compose's command and keys."""
        (directory / "data").mkdir(parents=True)
        config = directory / "s3.json"
        config.write_text(self._composed["configs"]["s3"]["content"])
        own = {
            "-dir": directory / "data",
            "-ip": "127.0.0.1",
            "-ip.bind": "127.0.0.1",
            "-s3.config": config,
            "-filer.localSocket": directory / "filer.sock",
            "-s3.localSocket": directory / "s3.sock",
        }
        words = shlex.split(self._services["s3"]["command"])
        kept = [word for word in words if word.partition("=")[0] not in own]
        command = [str(BIN / "weed"), *kept, *(f"{name}={value}" for name, value in own.items())]
        with (directory / "log").open("wb") as log:
            server = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log)
        try:
            wait_until(lambda: answers("http://127.0.0.1:8333/healthz"), "the S3 server answers")
            yield
        finally:
            server.kill()
            server.wait()


class DockerCompose:
    """The real thing: every service of compose.yaml, in its own container and network."""

    url = "http://127.0.0.1:8700"

    def __init__(self, given: dict[str, str]) -> None:
        self._given = {**given, "WORKERS": "1"}

    @contextmanager
    def serving(self, _directory: Path) -> Iterator[None]:
        try:
            self._compose("up", "--no-build", "--wait")
            yield
        finally:
            self._compose("down", "--volumes", "--timeout=20")

    def once(self, service: str, *command: str) -> str:
        return self._compose("run", "--rm", "-T", service, *command)

    def inside(self, service: str, *command: str) -> str:
        return self._compose("exec", "-T", service, *command)

    def _compose(self, *command: str) -> str:
        start = ("docker", "compose", f"--project-name={PROJECT}", f"--file={COMPOSE}")
        return run(*start, *command, environment=self._given)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.TransportError:
        return False
