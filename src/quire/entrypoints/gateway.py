"""Wires the gateway process: the mappings, the jail they run in, and its HTTP. Needs no database."""

from __future__ import annotations

import hmac
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from quire.convert.application.process_pdf import GatewayDesk
from quire.convert.infrastructure.jail.pdf_mapper import JailedPdfMapper
from quire.convert.infrastructure.mappings import MAPPINGS
from quire.convert.presentation.gateway_routes import gateway_health_routes, gateway_routes
from quire.kernel import UnauthenticatedError
from quire.reading import ReadingLimits
from quire.runtime.auth import Principal
from quire.runtime.http import BodyLimitRule, build_http_app
from quire.runtime.settings import Settings

# Room for the form's own lines around the file.
FORM_BYTES = 16_384


class OneToken:
    """Implements `Authenticator`: whoever shows the gateway's own token is the worker."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def authenticate(self, credential: str) -> Principal:
        if not hmac.compare_digest(credential.encode(), self._token):
            raise UnauthenticatedError("this is not the gateway's token", code="TOKEN_UNKNOWN")
        return Principal(token_id="gateway", user="worker", tenant_id="", role="user")  # noqa: S106


@asynccontextmanager
async def open_gateway(settings: Settings) -> AsyncIterator[FastAPI]:
    desk = gateway_desk(settings)
    try:
        await desk.mapper.check()
        yield assemble_gateway(settings, desk)
    finally:
        await desk.mapper.close()


def gateway_desk(settings: Settings) -> GatewayDesk:
    """Nothing runs yet."""
    slots = settings.gateway_slots
    mapper = JailedPdfMapper(
        tuple(mapping.about for mapping in MAPPINGS.values()),
        _limits(settings),
        joins={name: mapping.join for name, mapping in MAPPINGS.items() if mapping.join},
        processes=slots,
    )
    return GatewayDesk(mapper, slots, settings.gateway_waiting_per_slot * slots)


def assemble_gateway(settings: Settings, desk: GatewayDesk) -> FastAPI:
    """Without a token everything is open, and the address it binds to is the wall."""
    token = settings.gateway_token.get_secret_value()
    limit = BodyLimitRule("POST", re.compile("/process"), settings.gateway_max_bytes + FORM_BYTES)
    return build_http_app(
        settings,
        authenticator=OneToken(token) if token else None,
        routers=[gateway_routes(desk)],
        open_routers=[gateway_health_routes(desk)],
        body_limits=[limit],
    )


def _limits(settings: Settings) -> ReadingLimits:
    return ReadingLimits(
        memory_bytes=settings.gateway_memory_bytes,
        cpu_seconds=settings.gateway_cpu_seconds,
        wall_seconds=settings.gateway_wall_seconds,
        output_bytes=settings.gateway_max_result_bytes,
        pages=settings.gateway_max_pages,
    )
