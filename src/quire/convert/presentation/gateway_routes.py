"""The gateway's HTTP: `POST /process`, `GET /mappings`, `GET /health`, `GET /ready`, `GET /metrics`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from quire.convert.application.process_pdf import GatewayDesk, process_pdf
from quire.convert.domain.voucher import CHECKED_HEADER, DIGEST_HEADER
from quire.convert.presentation.hang_up import HUNG_UP, unless_hung_up
from quire.convert.presentation.process_form import read_form
from quire.kernel import NotAcceptableError
from quire.runtime.http import StrictRoute
from quire.runtime.http.principal import ANYBODY, declared
from quire.runtime.telemetry import render_metrics

XML = "application/xml"
ACCEPTED = frozenset({XML, "text/xml", "application/*", "*/*"})
CHUNK_BYTES = 1_048_576
# Up to here an answer has not left memory; sending it in pieces would cost a thread's turn each.
WHOLE_BYTES = 8_388_608

# The form is read as it comes, so its description is written down here.
FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["mapping", "file"],
                    "properties": {
                        "mapping": {"type": "string", "description": "One of `GET /mappings`."},
                        "file": {"type": "string", "format": "binary", "description": "The PDF."},
                    },
                }
            }
        },
    }
}

ANSWER: dict[str, Any] = {
    "content": {XML: {}},
    "headers": {
        CHECKED_HEADER: {
            "description": "The schema that these bytes were held against by the gateway, which wrote them.",
            "schema": {"type": "string"},
        },
        DIGEST_HEADER: {
            "description": "Their SHA-256, as RFC 9530 has it; beside the other.",
            "schema": {"type": "string"},
        },
    },
}


class GatewayMappingView(BaseModel):
    name: str
    version: str
    description: str
    schema_name: str
    namespace: str


class GatewayMappingsView(BaseModel):
    mappings: list[GatewayMappingView]


class GatewayHealthView(BaseModel):
    status: str


def gateway_routes(desk: GatewayDesk) -> APIRouter:
    # Whoever has the gateway's token, if it has one, may use all of it.
    router = APIRouter(tags=["gateway"], route_class=StrictRoute, dependencies=[declared(ANYBODY)])

    @router.post("/process", response_class=Response, responses={200: ANSWER}, openapi_extra=FORM)
    async def process(request: Request, accept: Annotated[str, Header(max_length=1000)] = "*/*") -> Response:
        """The PDF in `file` as XML by `mapping`, both fields of multipart/form-data."""
        _check_accept(accept)
        async with read_form(request) as form:
            answer = await unless_hung_up(request, process_pdf(desk, form.mapping, form.file))
        if answer is None:
            return Response(status_code=HUNG_UP)
        headers = answer.voucher.as_headers() if answer.voucher else {}
        size = answer.xml.seek(0, os.SEEK_END)
        if size <= WHOLE_BYTES:
            with answer.xml as xml:
                xml.seek(0)
                return Response(xml.read(), media_type=XML, headers=headers)
        headers["Content-Length"] = str(size)
        return StreamingResponse(_chunks(answer.xml), media_type=XML, headers=headers)

    @router.get("/mappings")
    async def list_mappings() -> GatewayMappingsView:
        return GatewayMappingsView(
            mappings=[
                GatewayMappingView(
                    name=about.name,
                    version=about.version,
                    description=about.description,
                    schema_name=about.schema,
                    namespace=about.namespace,
                )
                for about in desk.mapper.mappings()
            ]
        )

    @router.get("/metrics", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        body, content_type = render_metrics(request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})

    return router


def gateway_health_routes(desk: GatewayDesk) -> APIRouter:
    router = APIRouter(tags=["health"], route_class=StrictRoute)

    @router.get("/health")
    async def health() -> GatewayHealthView:
        """The process runs."""
        return GatewayHealthView(status="live")

    @router.get("/ready")
    async def is_ready() -> GatewayHealthView:
        """A document could be read now; otherwise 503."""
        await desk.mapper.check()
        return GatewayHealthView(status="ready")

    return router


def _check_accept(accept: str) -> None:
    """A type with `q=0` is one the caller does not want."""
    for offer in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in offer.split(";"))
        refused = any(p.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for p in parameters)
        if kind in ACCEPTED and not refused:
            return
    raise NotAcceptableError(f"the answer is {XML}")


def _chunks(xml: IO[bytes]) -> Iterator[bytes]:
    """Read in a thread by whoever sends it."""
    with xml:
        xml.seek(0)
        while chunk := xml.read(CHUNK_BYTES):
            yield chunk
