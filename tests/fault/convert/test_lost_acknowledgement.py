"""A request whose commit is never acknowledged: the work is accepted all the same, and nothing it needs is lost."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.support.conversions import convert_site, end_of, hand_in, shorten
from tests.support.gateway_process import GatewayProcess, pdf_that
from tests.support.processes import worker_yard
from tests.support.severing_proxy import severing_proxy

from quire.jobs import JobState
from quire.jobs.domain.errors import TenantQuotaError
from quire.runtime.database import DatabaseUnavailableError


async def test_an_input_outlives_the_lost_acknowledgement_of_its_job(
    dsn: str, tmp_path: Path, gateway: GatewayProcess
) -> None:
    site = convert_site(dsn, tmp_path, gateway.url)
    pdf = pdf_that(7)
    async with (
        severing_proxy(dsn) as proxy,
        replace(site, dsn=proxy.dsn).engine() as far,
        site.engine() as near,
    ):
        shorten(site.config_dir)
        proxy.needle = hashlib.sha256(pdf).hexdigest().encode()
        with pytest.raises(DatabaseUnavailableError):
            await hand_in(site, far, pdf)
        assert proxy.severed == 1
        async with near.database.acquire() as connection:
            stored = await connection.fetchval("SELECT id FROM jobs")
        assert (tmp_path / "uploads" / f"{stored}.pdf").read_bytes() == pdf

        assert await hand_in(site, far, pdf) == stored
        assert [path.name for path in (tmp_path / "uploads").iterdir()] == [f"{stored}.pdf"]
        with worker_yard(site) as yard:
            yard.start()
            assert (await end_of(near, stored)).state is JobState.SUCCEEDED


async def test_an_input_that_is_refused_for_certain_is_deleted_at_once(
    dsn: str, tmp_path: Path, gateway: GatewayProcess
) -> None:
    site = convert_site(dsn, tmp_path, gateway.url)
    queues = yaml.safe_load((site.config_dir / "queues.yaml").read_text())
    queues["queues"]["convert_xml"]["tenant_quota"] = {"queued": 1}
    (site.config_dir / "queues.yaml").write_text(yaml.safe_dump(queues))
    async with site.engine() as engine:
        accepted = await hand_in(site, engine, pdf_that(1))
        with pytest.raises(TenantQuotaError):
            await hand_in(site, engine, pdf_that(2))
    assert [path.name for path in (tmp_path / "uploads").iterdir()] == [f"{accepted}.pdf"]
