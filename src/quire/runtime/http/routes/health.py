"""/livez, /readyz and /metrics. The first two are open; metrics tell of all tenants, and need an operator with the
scope platform, or QUIRE_METRICS_TOKEN. They are those of the whole installation; `?of=process` asks for what this
process counted itself."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from quire.runtime.auth import PLATFORM_SCOPE, Authenticator, Principal, requirement_of, requires
from quire.runtime.http.middleware.authentication import bearer_credential
from quire.runtime.http.principal import declared
from quire.runtime.http.strict_json import StrictRoute
from quire.runtime.telemetry import InstallationMetrics, render_metrics


class HealthView(BaseModel):
    status: str


async def exposition(installation: InstallationMetrics | None, of: str, accept: str) -> tuple[bytes, str]:
    if installation is None or of == "process":
        return render_metrics(accept)
    return await installation.render(accept)


@requires("operator", scope=PLATFORM_SCOPE)
async def show_metrics(
    caller: Principal, installation: InstallationMetrics | None, of: str, accept: str
) -> tuple[bytes, str]:
    return await exposition(installation, of, accept)


def health_routes(
    ready: Callable[[], Awaitable[None]],
    authenticator: Authenticator,
    metrics_token: str = "",
    installation: InstallationMetrics | None = None,
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

    @router.get("/metrics", include_in_schema=False, dependencies=[declared(requirement_of(show_metrics))])
    async def metrics(request: Request, of: Literal["installation", "process"] = "installation") -> Response:
        credential, accept = bearer_credential(request.headers), request.headers.get("accept", "")
        if metrics_token and hmac.compare_digest(credential.encode(), metrics_token.encode()):
            body, content_type = await exposition(installation, of, accept)
        else:
            caller = await authenticator.authenticate(credential)
            body, content_type = await show_metrics(caller, installation, of, accept)
        return Response(body, headers={"Content-Type": content_type})

    return router
