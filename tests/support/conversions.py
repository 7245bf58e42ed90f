"""Conversions of a fault test: handed in as the API does, under the shipped rules with shorter times."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import yaml
from tests.support.gateway_process import GatewayProcess
from tests.support.records import each_reaches, job_of
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.convert import AcceptanceDesk, create_conversion
from quire.entrypoints.convert import input_store, mapping_list
from quire.entrypoints.engine import Engine
from quire.jobs import ENDED_STATES, Job
from quire.jobs.ports.v1.integration_gate import IntegrationStatus
from quire.runtime.auth import Principal
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import start_span

CALLER = Principal("t", "ann", "acme", "user")
TIMEOUT_MS = 60_000
BASE_SECONDS = 0.1
OPEN_SECONDS = 0.5


def convert_site(dsn: str, directory: Path, gateway_url: str, **environment: object) -> Site:
    """Its rules are the shipped ones."""
    names: dict[str, object] = {
        "GATEWAY_URL": gateway_url,
        "GATEWAY_TIMEOUT_MS": TIMEOUT_MS,
        "UPLOADS_DIR": directory / "uploads",
        "RESULTS_DIR": directory / "results",
        "WORKER_QUEUES": "convert_*",
        "WORKER_CONCURRENCY": 16,
        "WORKER_LEASE_TTL_SEC": 15,
        **environment,
    }
    return Site(dsn, directory / "site", environment={name: str(value) for name, value in names.items()})


def shorten(config_dir: Path) -> None:
    """The shipped rules at a hundredth of their times, and a breaker that a single bad file does not move."""
    retries = yaml.safe_load((config_dir / "retries.yaml").read_text())
    for rule in retries["kinds"]["convert.xml"]:
        rule |= {"base_seconds": BASE_SECONDS, "jitter_seconds": BASE_SECONDS}
    (config_dir / "retries.yaml").write_text(yaml.safe_dump(retries))
    change_breaker(config_dir, minimum_calls=500, open_seconds=OPEN_SECONDS)


def change_breaker(config_dir: Path, **values: float) -> None:
    throttling = yaml.safe_load((config_dir / "throttling.yaml").read_text())
    throttling["integrations"]["gateway"]["breaker"] |= values
    (config_dir / "throttling.yaml").write_text(yaml.safe_dump(throttling))


async def hand_in(site: Site, engine: Engine, pdf: bytes, mapping: str = "alto") -> UUID:
    settings = load_settings(**site.names)
    inputs = input_store(settings, engine.storage)
    await inputs.ensure_ready()
    max_bytes = settings.convert_max_file_bytes
    desk = AcceptanceDesk(engine.intake, inputs, mapping_list(settings), max_bytes, engine.storage)

    async def chunks() -> AsyncIterator[bytes]:
        yield pdf

    with start_span("request"):
        return (await create_conversion(desk, CALLER, mapping, chunks())).job_id


async def called(gateway: GatewayProcess, *pdfs: bytes) -> None:
    """Waits until the gateway has got each of the files."""
    digests = {hashlib.sha256(pdf).hexdigest() for pdf in pdfs}

    async def probe() -> bool:
        return digests <= {call["sha256"] for call in gateway.calls()}

    await eventually(probe, f"{len(digests)} calls of the gateway")


async def breaker_of(engine: Engine) -> IntegrationStatus:
    (status,) = [item for item in await engine.gate.status() if item.name == "gateway"]
    return status


async def breaker_is(engine: Engine, state: str) -> bool:
    return any(item.name == "gateway" and item.breaker == state for item in await engine.gate.status())


async def end_of(engine: Engine, job_id: UUID) -> Job:
    await each_reaches(engine, [job_id], lambda job: job.state in ENDED_STATES, "its end", within_seconds=60)
    return await job_of(engine, job_id)
