"""Real Redis and RabbitMQ servers on free loopback ports. Nothing of them is shared with a server that the machine may
run, and none outlives its test session."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pika
import pika.exceptions
import pytest
import redis

from quire.runtime.free_port import free_port

START_SECONDS = 120.0
# Debian's /usr/sbin/rabbitmq-server insists on the user rabbitmq; this is what it runs.
RABBIT_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
RABBIT_CONTROL = RABBIT_PROGRAM.with_name("rabbitmqctl")
RABBIT_MEMORY = "512MB"


class RedisServer:
    """Without persistence: whatever stops it, it forgets everything."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program, "redis-server is missing: run `make setup`"
        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._directory)]
        self._process = _spawn([program, *where, "--save", "", "--appendonly", "no"], self._directory, {})
        _await(self._answers, self._process, self._directory)

    def _answers(self) -> bool:
        with redis.Redis.from_url(self.url, socket_timeout=2) as client:
            return bool(client.ping())

    def wipe(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def kill(self) -> None:
        _kill(self._process)

    def restart(self) -> None:
        self.kill()
        self.start()

    stop = kill


class RabbitServer:
    """A node of its own with its own name directory (epmd), cookie and data, for root and for anybody."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.port, self._epmd_port, self._node_port = free_port(), free_port(), free_port()
        self._epmd: subprocess.Popen[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def start(self) -> None:
        assert RABBIT_PROGRAM.exists(), "rabbitmq-server is missing: run `make setup`"
        if self._epmd is None:
            names = ["epmd", "-port", str(self._epmd_port), "-address", "127.0.0.1"]
            self._epmd = _spawn([*names, "-relaxed_command_check"], self._directory, {})
        self._process = _spawn([str(RABBIT_PROGRAM)], self._directory, self._environment())
        _await(self._answers, self._process, self._directory)

    def _environment(self) -> dict[str, str]:
        config = self._directory / "rabbitmq.conf"
        config.write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\nvm_memory_high_watermark.absolute = {RABBIT_MEMORY}\n"
            "disk_free_limit.absolute = 50MB\nlog.console = true\nlog.console.level = error\nlog.file = false\n"
        )
        (self._directory / "enabled_plugins").write_text("[].\n")
        return {
            "HOME": str(self._directory),
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"quire{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_CONFIG_FILE": str(config),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._directory / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(self._directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._directory / "log"),
            "RABBITMQ_PID_FILE": str(self._directory / "pid"),
            # The Erlang machine takes the place of the script, so that a signal to our child reaches it.
            "RUNNING_UNDER_SYSTEMD": "1",
        }

    def _answers(self) -> bool:
        # pika leaves sockets behind when nobody listens.
        socket.create_connection(("127.0.0.1", self.port), timeout=2).close()
        parameters = pika.URLParameters(f"{self.url}?connection_attempts=1&socket_timeout=2&stack_timeout=2")
        connection = pika.BlockingConnection(parameters)
        connection.channel().queue_declare("", exclusive=True)
        connection.close()
        return True

    @contextlib.contextmanager
    def short_of_memory(self) -> Iterator[None]:
        """It answers, and takes no more messages from anybody."""
        self._control("set_vm_memory_high_watermark", "0")
        try:
            yield
        finally:
            self._control("set_vm_memory_high_watermark", "absolute", RABBIT_MEMORY)

    def _control(self, *words: str) -> None:
        with (self._directory / "server.log").open("ab") as log:
            subprocess.run(
                [str(RABBIT_CONTROL), *words],
                cwd=self._directory,
                env=_inherited() | self._environment(),
                stdout=log,
                stderr=log,
                timeout=START_SECONDS,
                check=True,
            )

    def wipe(self) -> None:
        """Every queue, with what is in it."""
        self.kill()
        shutil.rmtree(self._directory / "mnesia", ignore_errors=True)
        self.start()

    def kill(self) -> None:
        _kill(self._process)

    def restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> None:
        self.kill()
        _kill(self._epmd)


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("RABBITMQ_")}


def _spawn(command: list[str], directory: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with (directory / "server.log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=directory,
            env=_inherited() | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _await(answers: Callable[[], bool], process: subprocess.Popen[bytes], directory: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if answers():
                return
        except (OSError, redis.RedisError, pika.exceptions.AMQPError):
            time.sleep(0.05)
    _kill(process)
    tail = (directory / "server.log").read_text(errors="replace")[-2000:]
    raise RuntimeError(f"the server did not start: {tail}")


def _kill(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="quire-redis-") as directory:
        server = RedisServer(Path(directory))
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="session")
def rabbit_server() -> Iterator[RabbitServer]:
    """Slow to start: once a session, and only where a test asks for it."""
    with tempfile.TemporaryDirectory(prefix="quire-rabbit-", ignore_cleanup_errors=True) as directory:
        server = RabbitServer(Path(directory))
        server.start()
        yield server
        server.stop()
