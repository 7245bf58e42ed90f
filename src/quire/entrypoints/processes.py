"""The processes of one machine, in the order they start; `quire up` supervises them, last ones stop first."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from quire.entrypoints.home import Home
from quire.entrypoints.listen_address import ListenAddress
from quire.runtime.log_file import LogFile
from quire.runtime.program import Command
from quire.runtime.python_command import python_module
from quire.runtime.settings import Settings

API_GRACE_SECONDS = 15.0
GATEWAY_GRACE_SECONDS = 15.0
# Past a worker's own grace it hands its jobs back, which takes a moment.
WORKER_NICENESS = "5"
WORKER_MARGIN_SECONDS = 10.0


@dataclass(frozen=True)
class Layout:
    """What the children are told; everything else they read from the environment themselves."""

    home: Home
    dsn: str
    secret_key: str
    address: ListenAddress
    workers: int
    gateway: ListenAddress | None = None
    """Where a gateway of its own listens; none where the settings name another."""


def stages(layout: Layout, settings: Settings) -> list[list[Command]]:
    """The gateway before the workers that call it, workers before the API: what it accepts is worked on at once.
    Another kind of process goes here."""
    environment = child_environment(layout, settings)
    grace = settings.shutdown_grace_seconds + WORKER_MARGIN_SECONDS
    workers = [
        _quire(f"worker-{number}", ["worker"], layout, _own_metrics(environment, settings, number), grace)
        for number in range(1, layout.workers + 1)
    ]
    api = _quire("api", ["api", "--port", str(layout.address.port)], layout, environment, API_GRACE_SECONDS)
    return [_gateways(layout, environment), workers, [api]]


def _gateways(layout: Layout, environment: Mapping[str, str]) -> list[Command]:
    if layout.gateway is None:
        return []
    arguments = ["gateway", "--host", layout.gateway.host, "--port", str(layout.gateway.port)]
    return [_quire("gateway", arguments, layout, environment, GATEWAY_GRACE_SECONDS)]


def _own_metrics(environment: Mapping[str, str], settings: Settings, number: int) -> dict[str, str]:
    """Workers of one machine count up from QUIRE_METRICS_PORT; one port serves one process."""
    if settings.metrics_port <= 0:
        return dict(environment)
    return {**environment, "QUIRE_METRICS_PORT": str(settings.metrics_port + number - 1)}


def child_environment(layout: Layout, settings: Settings) -> dict[str, str]:
    environment = {
        **os.environ,
        "DATABASE_URL": layout.dsn,
        "QUIRE_SECRET_KEY": layout.secret_key,
        "QUIRE_DATA_DIR": str(layout.home.root),
        "QUIRE_HOST": layout.address.host,
        "QUIRE_PORT": str(layout.address.port),
        "PYTHONUNBUFFERED": "1",
    }
    if layout.gateway is not None:
        environment["GATEWAY_URL"] = layout.gateway.url
        environment.setdefault("GATEWAY_TRUSTED", "true")
        # It listens to this machine, which may have other users.
        environment.setdefault("QUIRE_GATEWAY_TOKEN", secrets.token_urlsafe(32))
    # Beside each other on one machine, who answers comes before who works.
    environment.setdefault("WORKER_NICENESS", WORKER_NICENESS)
    if "storage_url" not in settings.model_fields_set:
        environment["QUIRE_STORAGE_URL"] = layout.home.storage_url
    return environment


def _quire(
    name: str, arguments: list[str], layout: Layout, environment: Mapping[str, str], grace_seconds: float
) -> Command:
    command = python_module("quire", *arguments)
    return Command(name, command, environment, LogFile(layout.home.logs / f"{name}.log"), grace_seconds)
