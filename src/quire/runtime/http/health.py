"""/livez, /readyz and /metrics. The first two are open; metrics need an operator or QUIRE_METRICS_TOKEN."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from quire.runtime.auth import Authenticator, require_role
from quire.runtime.http.authentication import bearer_credential
from quire.runtime.http.strict_json import StrictRoute
from quire.runtime.telemetry import render_metrics


class HealthView(BaseModel):
    status: str


def health_routes(
    ready: Callable[[], Awaitable[None]], authenticator: Authenticator, metrics_token: str = ""
) -> APIRouter:
    router = APIRouter(tags=["health"], route_class=StrictRoute)

    @router.get("/livez")
    async def live() -> HealthView:
        """The process runs. Asks nothing of anything else."""
        return HealthView(status="live")

    @router.get("/readyz")
    async def is_ready() -> HealthView:
        """The database answers and its schema is not older than this process; otherwise 503."""
        await ready()
        return HealthView(status="ready")

    @router.get("/metrics", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        credential = bearer_credential(request.headers)
        if not (metrics_token and hmac.compare_digest(credential.encode(), metrics_token.encode())):
            require_role(await authenticator.authenticate(credential), "operator")
        body, content_type = render_metrics(request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})

    return router
