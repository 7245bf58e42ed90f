"""A site on the shared server for faults of processes, and one on a server of its own for faults of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.support.gateway_process import GatewayProcess, gateway_process
from tests.support.processes import WorkerYard, worker_yard
from tests.support.site import Site

from quire.entrypoints.engine import Engine


@pytest.fixture
def max_crashes() -> int:
    """As shipped; a module that kills many workers raises it."""
    return 3


@pytest.fixture
def site(dsn: str, tmp_path: Path, max_crashes: int) -> Site:
    return Site(dsn, tmp_path / "site", max_crashes)


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    """One that does what each PDF asks of it."""
    with gateway_process() as gateway:
        yield gateway


@pytest.fixture
def yard(site: Site) -> Iterator[WorkerYard]:
    with worker_yard(site) as yard:
        yield yard


@pytest.fixture
async def engine(site: Site) -> AsyncIterator[Engine]:
    async with site.engine() as engine:
        yield engine
