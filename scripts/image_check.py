"""For scripts/image-check: starts an image's processes as compose.yaml says, has them print and convert a document, and
compares every byte with what `quire up` makes on this machine. Everything that it starts ends with it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import httpx
from composed_services import (
    BIN,
    COMPOSE,
    LASTING,
    CheckFailedError,
    DockerCompose,
    Podman,
    made_up_environment,
    run,
    wait_until,
)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Run inside a container: what the kernel says of the first process, and whether its file system can be written.
WALLS = """
import os
lines = dict(line.split(":", 1) for line in open("/proc/1/status").read().splitlines())
said = {name: lines[name].strip() for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")}
said["uid"] = os.getuid()
said["read_only"] = bool(os.statvfs("/").f_flag & os.ST_RDONLY)
print(__import__("json").dumps(said))
"""
WALLED = {
    "CapEff": "0" * 16,
    "CapBnd": "0" * 16,
    "NoNewPrivs": "1",
    "Seccomp": "2",
    "uid": 10001,
    "read_only": True,
}


def say(text: str) -> None:
    print(f"image-check: {text}", flush=True)  # noqa: T201 (a command's own words)


@contextmanager
def quire_up(directory: Path) -> Iterator[tuple[str, str]]:
    """URL and token of this machine's own."""
    ready, log = directory / "ready.json", directory / "up.log"
    own = {name: value for name, value in os.environ.items() if not name.startswith(("QUIRE_", "DATABASE_"))}
    options: list[str | Path] = ["--data-dir", directory / "data", "--port", "0", "--ready-file", ready]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [BIN / "quire", "up", *options], cwd=directory, env=own, stdout=output, stderr=output
        )
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, "`quire up` is ready")
        if process.poll() is not None:
            raise CheckFailedError(f"`quire up` ended:\n{log.read_text()}")
        said = json.loads(ready.read_text())
        yield said["url"], said["token"]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def documents(url: str, token: str, directory: Path) -> dict[str, bytes]:
    """Printed, converted and shown, by the commands and calls that the guides have."""
    directory.mkdir()
    pdf, xml = directory / "invoice.pdf", directory / "invoice.xml"
    access = {"QUIRE_URL": url, "QUIRE_TOKEN": token}
    # An API may be ready before a worker has said that it is there.
    wait_until(
        lambda: bool(json.loads(run(BIN / "quire", "workers", "--json", environment=access))),
        "a worker is there",
    )
    run(BIN / "quire", "render", "invoice", "--sample", "-o", pdf, environment=access)
    run(BIN / "quire", "verify", pdf, environment=access)
    run(BIN / "quire", "convert", pdf, "--mapping", "alto", "-o", xml, environment=access)
    return {
        "printed PDF": pdf.read_bytes(),
        "converted XML": xml.read_bytes(),
        "preview": preview(url, token),
    }


def preview(url: str, token: str) -> bytes:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        sample = client.get("/pdf/templates/invoice").json()["sample"]
        shown = client.post("/pdf/preview", json={"template_name": "invoice", "payload": sample})
    if shown.status_code != 200:
        raise CheckFailedError(f"/pdf/preview answers {shown.status_code}: {shown.text}")
    return shown.content


def check_walls(engine: Podman | DockerCompose) -> None:
    for name in LASTING:
        said = json.loads(engine.inside(name, "python3", "-c", WALLS))
        if said != WALLED:
            raise CheckFailedError(f"{name} runs with {said}, not with {WALLED}")
    say("walls: no capabilities, nothing to write to, seccomp, no new privileges, for " + ", ".join(LASTING))


def check_plain_result(engine: Podman | DockerCompose, xml: bytes) -> None:
    """Beside the storage, where RESULTS_DIR says."""
    shown = (
        "import pathlib; [print(p.read_text(), end='') for p in pathlib.Path('/app/results').glob('*.xml')]"
    )
    if engine.inside("worker", "python3", "-c", shown).encode() != xml:
        raise CheckFailedError("the result is not in /app/results")


def compare(image: dict[str, bytes], host: dict[str, bytes]) -> None:
    differing = [name for name in host if image[name] != host[name]]
    for name, data in image.items():
        said = "differs from the host's" if name in differing else "same bytes as the host's"
        say(f"{name}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}, {said}")
    if differing:
        raise CheckFailedError(
            "bytes differ; do image and host have the same version of chromium-headless-shell?"
        )


def check(engine: Podman | DockerCompose, directory: Path) -> None:
    with engine.serving(directory):
        say("migrate, gateway, api and worker are healthy")
        check_walls(engine)
        token = engine.once(
            "api", "token", "create", "ops", "--role", "admin", "--scope", "platform"
        ).split()[-1]
        from_image = documents(engine.url, token, directory / "image")
        check_plain_result(engine, from_image["converted XML"])
    with quire_up(directory) as (url, own_token):
        from_host = documents(url, own_token, directory / "host")
    compare(from_image, from_host)


def leave(number: int, _frame: FrameType | None) -> None:
    """The first signal takes everything away; another one must not stop that half way."""
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def main(kind: str, image: str) -> None:
    given = made_up_environment(COMPOSE.read_text())
    engine = DockerCompose(given) if kind == "docker" else Podman(image, given)
    for number in SIGNALS:
        signal.signal(number, leave)
    with tempfile.TemporaryDirectory(prefix="quire-image-check-") as name:
        # Browsers and Postgres run as others, and pass through it.
        Path(name).chmod(0o711)
        try:
            check(engine, Path(name))
        except CheckFailedError as error:
            sys.exit(f"image-check: FAILED: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
