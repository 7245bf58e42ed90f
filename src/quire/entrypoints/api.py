"""Wires the API process: the engine, storage, tokens and every router, into one HTTP application."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from quire.convert.presentation.routes.conversions import convert_routes
from quire.entrypoints.convert import input_store
from quire.entrypoints.convert_desk import conversion_desk
from quire.entrypoints.engine import Engine, open_engine
from quire.entrypoints.migrate import head_revision
from quire.entrypoints.pdf_desk import pdf_desk
from quire.entrypoints.render import open_templates
from quire.entrypoints.schedules import tick_intake
from quire.entrypoints.webhooks import webhook_desk
from quire.jobs import CompletionWatch
from quire.jobs.application.problems.decision_registry import DecisionRegistry
from quire.jobs.application.upkeep.gauge_refresher import GaugeRefresher
from quire.jobs.infrastructure.postgres.schedule_book import PostgresScheduleBook
from quire.jobs.presentation.routes import JobDesk, job_routers
from quire.jobs.presentation.routes.schedules import ScheduleRouteParts, schedule_routes
from quire.jobs.presentation.routes.webhooks import webhook_routes
from quire.render import gauge_depth
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.render.presentation.routes import pdf_routes, template_routes
from quire.render.presentation.routes.asking import UNAVAILABLE as PDF_UNAVAILABLE
from quire.runtime.auth import TenantStore, TokenAuthenticator, TokenStore, UsageRecorder
from quire.runtime.http import BodyLimitRule, build_http_app, health_routes, tenant_routes, token_routes
from quire.runtime.settings import Settings
from quire.runtime.storage import UrlSigner, url_signer
from quire.runtime.storage.routes import storage_routes
from quire.runtime.telemetry import DatabaseReadiness, InstallationMetrics, MetricStore, metrics_shipped

BATCH_BODY_FACTOR = 16
# What a form holds beside its file.
FORM_ROOM_BYTES = 65_536


@dataclass(frozen=True)
class ApiParts:
    """What the routes work with; each part is opened and closed by `open_api`."""

    engine: Engine
    signer: UrlSigner
    usage: UsageRecorder
    watch: CompletionWatch
    builder: JinjaHtmlBuilder
    metrics: InstallationMetrics


@asynccontextmanager
async def open_api(settings: Settings, public_url: str = "") -> AsyncIterator[FastAPI]:
    """The application with everything behind it open. `public_url` is for a port known only at start.
    Call `app.state.release_waiters()` when about to stop, so that long polls do not hold it up."""
    signer = url_signer(settings, public_url)
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(
            open_engine(settings, application="quire-api", signer=signer)
        )
        usage = UsageRecorder(TokenStore(engine.database))
        await stack.enter_async_context(_running(usage))
        await input_store(settings, engine.storage).ensure_ready()
        builder = JinjaHtmlBuilder()
        stack.push_async_callback(builder.close)
        counts = MetricStore(engine.database)
        shipper = await stack.enter_async_context(metrics_shipped(counts, "api"))
        parts = ApiParts(
            engine,
            signer,
            usage,
            CompletionWatch(engine.board, engine.broker),
            builder,
            InstallationMetrics(counts, shipper),
        )
        await stack.enter_async_context(_awake(parts))
        app = assemble_api(settings, parts)
        app.state.release_waiters = parts.watch.release
        yield app


def assemble_api(settings: Settings, parts: ApiParts) -> FastAPI:
    database = parts.engine.database
    templates = open_templates(settings)
    authenticator = TokenAuthenticator(database, parts.usage)
    ready = DatabaseReadiness(database, head_revision())
    return build_http_app(
        settings,
        authenticator=authenticator,
        routers=[
            *job_routers(_job_desk(parts)),
            pdf_routes(pdf_desk(parts.engine, settings, parts.watch, templates, parts.builder)),
            template_routes(templates),
            convert_routes(conversion_desk(parts.engine, settings, parts.watch)),
            webhook_routes(webhook_desk(parts.engine, settings)),
            schedule_routes(
                ScheduleRouteParts(PostgresScheduleBook(database), tick_intake(parts.engine, settings))
            ),
            token_routes(TokenStore(database)),
            tenant_routes(TenantStore(database)),
        ],
        open_routers=[
            health_routes(ready, authenticator, settings.metrics_token.get_secret_value(), parts.metrics),
            storage_routes(parts.engine.storage, parts.signer),
        ],
        body_limits=_body_limits(settings),
        outage_codes={("POST", "/pdf/jobs"): PDF_UNAVAILABLE},
    )


def _job_desk(parts: ApiParts) -> JobDesk:
    engine = parts.engine
    return JobDesk(
        intake=engine.intake,
        board=engine.board,
        problems=engine.problems,
        decisions=DecisionRegistry(engine.problems),
        gate=engine.gate,
        registry=engine.registry,
        broker=engine.broker,
        watch=parts.watch,
        storage=engine.storage,
        policies=engine.policies,
    )


def _body_limits(settings: Settings) -> list[BodyLimitRule]:
    return [
        BodyLimitRule("POST", re.compile("/jobs/batch"), BATCH_BODY_FACTOR * settings.max_body_bytes),
        BodyLimitRule("POST", re.compile("/pdf/(jobs|preview)"), _document_bytes(settings)),
        BodyLimitRule("POST", re.compile("/convert/jobs"), settings.convert_max_file_bytes + FORM_ROOM_BYTES),
        # The signature holds the exact size of the upload.
        BodyLimitRule("PUT", re.compile("/storage/.*", re.DOTALL), None),
    ]


def _document_bytes(settings: Settings) -> int:
    """Room for the largest payload as its sender may write it: with every character escaped."""
    return max(settings.max_body_bytes, 2 * settings.pdf_max_payload_bytes)


@asynccontextmanager
async def _awake(parts: ApiParts) -> AsyncIterator[None]:
    """Listens for what ended (the watch has subscribed by now) and keeps the cluster's gauges fresh."""
    engine = parts.engine
    gauges = GaugeRefresher(
        engine.board, engine.gate, engine.registry, engine.expiry, engine.policies, gauge_depth
    )
    await engine.broker.start()
    parts.watch.start()
    gauges.start()
    try:
        yield
    finally:
        await gauges.close()
        await parts.watch.close()


@asynccontextmanager
async def _running(usage: UsageRecorder) -> AsyncIterator[None]:
    stop = asyncio.Event()
    loop = asyncio.create_task(usage.run(stop))
    try:
        yield
    finally:
        stop.set()
        await loop
