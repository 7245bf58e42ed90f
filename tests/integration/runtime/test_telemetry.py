"""Logs, metrics and traces as they leave a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.support.api_server import client_of

from quire.kernel import UnavailableError
from quire.runtime.database import Database
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import DatabaseReadiness, start_metrics_server, start_span
from quire.runtime.telemetry.exporter import SpanExporter
from quire.runtime.telemetry.metrics_server import MetricsServer

LOGGING_PROGRAM = """
import logging, structlog
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import configure_telemetry, start_span

configure_telemetry(load_settings(), process="worker")
log = structlog.get_logger()
with start_span("job", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"):
    with structlog.contextvars.bound_contextvars(job_id="j1", worker_id="w1"):
        log.info("job_started", token="qr_abcdefgh_" + "s" * 43, note="qr_abcdefgh_" + "s" * 43)
        try:
            raise RuntimeError("cannot reach postgresql://quire:hunter2@db/quire")
        except RuntimeError:
            log.exception("job_failed")
        logging.getLogger("somewhere").warning("standard %s", "password=hunter2")
        log.debug("too_quiet")
"""


async def test_log_lines_are_json_with_context_and_without_secrets() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LOGGING_PROGRAM, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err
    assert out == b""
    lines = [json.loads(line) for line in err.splitlines()]
    assert [line["event"] for line in lines] == ["job_started", "job_failed", "standard password=***"]
    for line in lines:
        assert line["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
        assert (line["job_id"], line["worker_id"], line["process"]) == ("j1", "w1", "worker")
        assert line["timestamp"].endswith("Z")
    assert [line["level"] for line in lines] == ["info", "error", "warning"]
    assert "RuntimeError" in lines[1]["exception"]
    assert b"hunter2" not in err
    assert b"s" * 43 not in err


# A process without an API


@contextlib.asynccontextmanager
async def metrics_server(ready: object = None) -> AsyncIterator[MetricsServer]:
    server = await start_metrics_server(load_settings(QUIRE_METRICS_PORT=0), ready)  # type: ignore[arg-type]
    assert server is not None
    try:
        yield server
    finally:
        await server.close()


async def test_metrics_server_answers_scrapers_and_probes() -> None:
    async with metrics_server() as server, client_of(f"http://127.0.0.1:{server.port}") as client:
        metrics = await client.get("/metrics?name=x")
        assert "quire_http_requests" in metrics.text or "process_cpu_seconds_total" in metrics.text
        assert metrics.headers["Content-Type"].startswith("text/plain")
        assert (await client.get("/livez")).text == "live\n"
        assert (await client.get("/readyz")).status_code == 200
        assert (await client.get("/else")).status_code == 404
        assert (await client.post("/metrics")).status_code == 404


async def test_process_that_cannot_work_is_alive_but_not_ready() -> None:
    async def broken() -> None:
        raise UnavailableError("no", code="DATABASE_UNAVAILABLE")

    async with metrics_server(broken) as server, client_of(f"http://127.0.0.1:{server.port}") as client:
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.text) == (503, "not ready: DATABASE_UNAVAILABLE\n")
        assert (await client.get("/livez")).status_code == 200


async def test_oversized_or_broken_requests_end_the_connection_only() -> None:
    async with metrics_server() as server:
        for data in (b"x" * 20_000, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000, b"GET"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(data)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await asyncio.wait_for(reader.read(), 5)
            writer.close()
        async with client_of(f"http://127.0.0.1:{server.port}") as client:
            assert (await client.get("/livez")).status_code == 200


async def test_no_metrics_server_without_a_port() -> None:
    assert await start_metrics_server(load_settings(QUIRE_METRICS_PORT=-1)) is None


async def test_database_readiness_answers_within_its_second_when_all_connections_are_taken(dsn: str) -> None:
    database = await Database.open(dsn, pool_max=1)
    ready = DatabaseReadiness(database, "0001")
    async with database.acquire():
        began = time.monotonic()
        with pytest.raises(UnavailableError):
            await ready()
        assert time.monotonic() - began < 3
    await ready()
    await database.close()


async def test_empty_database_is_not_ready(empty_dsn: str) -> None:
    database = await Database.open(empty_dsn)
    with pytest.raises(UnavailableError) as caught:
        await DatabaseReadiness(database, "0001")()
    assert caught.value.code == "SCHEMA_BEHIND"
    await database.close()


# Traces that leave


@contextlib.asynccontextmanager
async def collector() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Takes what an OTLP/HTTP exporter posts to /v1/traces."""
    bodies: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("post /v1/traces ")
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        bodies.append(await reader.readexactly(length))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", bodies


async def test_exported_spans_share_the_trace_of_their_request() -> None:
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with collector() as (url, bodies):
        exporter = SpanExporter(url, "worker")
        try:
            with start_span("job", given, {"quire.kind": "test.echo"}) as outer, start_span("call") as inner:
                assert inner.trace_id == outer.trace_id == "0af7651916cd43dd8448eb211c80319c"
        finally:
            await asyncio.to_thread(exporter.close)
    spans = {
        span.name: span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }
    assert spans["job"].trace_id.hex() == spans["call"].trace_id.hex() == outer.trace_id
    assert spans["job"].parent_span_id.hex() == "b7ad6b7169203331"
    assert spans["call"].parent_span_id == spans["job"].span_id
    assert spans["job"].span_id.hex() == outer.span_id
    assert spans["job"].attributes[0].value.string_value == "test.echo"
    with start_span("after") as quiet:
        assert quiet.trace_id != outer.trace_id


async def test_collector_that_is_down_costs_only_spans() -> None:
    exporter = SpanExporter("http://127.0.0.1:9", "worker")
    with start_span("job") as span:
        assert span.traceparent
    began = time.monotonic()
    await asyncio.to_thread(exporter.close)
    assert time.monotonic() - began < 10
