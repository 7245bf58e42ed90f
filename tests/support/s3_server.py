"""A real SeaweedFS S3 server on loopback ports, for the storage contract. It checks signatures, which fakes
do not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from quire.runtime.free_port import free_port

START_DEADLINE_SECONDS = 60.0
ACCESS_KEY = "quiretestaccess"
SECRET_KEY = "quiretestsecret0123456789"


@dataclass(frozen=True)
class S3Server:
    endpoint: str
    process: subprocess.Popen[bytes]
    ports: tuple[int, ...]
    directory: Path
    access_key: str = ACCESS_KEY
    secret_key: str = SECRET_KEY

    def url(self, bucket: str, prefix: str = "") -> str:
        return f"s3://{bucket}?endpoint={self.endpoint}&region=us-east-1&prefix={prefix}"

    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key}

    def stop(self) -> None:
        """Killed: its graceful stop takes ten seconds, and its data goes with its directory."""
        self.process.kill()
        self.process.wait(10)
        for port in self.ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    def started_again(self) -> S3Server:
        """After `stop`: on the same data and ports."""
        return _start(self.directory, self.ports)


def start_s3_server(directory: Path) -> S3Server:
    (directory / "data").mkdir()
    return _start(directory, tuple({free_port() for _ in range(40)})[:8])


def _start(directory: Path, ports: tuple[int, ...]) -> S3Server:
    with (directory / "server.log").open("ab") as log:
        process = subprocess.Popen(
            _command(directory, ports),
            cwd=directory,
            # One volume at a time instead of seven, or the first write of each bucket takes seconds.
            env={**os.environ, "WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    server = S3Server(f"http://127.0.0.1:{ports[0]}", process, ports, directory)
    try:
        _wait_until_ready(server, directory)
    except BaseException:
        server.stop()
        raise
    return server


def _command(directory: Path, ports: tuple[int, ...]) -> list[str]:
    identity = {
        "name": "quire",
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    config = directory / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    weed = Path(sys.executable).with_name("weed")
    s3, s3_grpc, filer, filer_grpc, master, master_grpc, volume, volume_grpc = ports
    return [
        str(weed if weed.exists() else shutil.which("weed")),
        "server",
        f"-dir={directory / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-master.telemetry=false",
        "-master.electionTimeout=1s",
        "-master.volumeSizeLimitMB=64",
        f"-master.port={master}",
        f"-master.port.grpc={master_grpc}",
        f"-volume.port={volume}",
        f"-volume.port.grpc={volume_grpc}",
        "-volume.max=100",
        "-volume.minFreeSpace=0",
        "-volume.preStopSeconds=0",
        "-filer",
        f"-filer.port={filer}",
        f"-filer.port.grpc={filer_grpc}",
        f"-filer.localSocket={directory / 'filer.sock'}",
        "-s3",
        f"-s3.port={s3}",
        f"-s3.port.grpc={s3_grpc}",
        f"-s3.config={config}",
        f"-s3.localSocket={directory / 's3.sock'}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-s3.autoCreateBucket=false",
    ]


def _wait_until_ready(server: S3Server, directory: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE_SECONDS
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        if _answers(server.endpoint):
            return
        time.sleep(0.1)
    tail = (directory / "server.log").read_text(errors="replace")[-2000:]
    raise RuntimeError(f"SeaweedFS did not start: {tail}")


def _answers(endpoint: str) -> bool:
    """An unsigned request is answered 403 once the gateway can judge one."""
    try:
        urllib.request.urlopen(endpoint, timeout=2).close()
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
    return True


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    # A short path of its own: the filer's unix socket may have 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="quire-s3-") as directory:
        server = start_s3_server(Path(directory))
        yield server
        server.stop()
