"""GET /openapi.json: the contract is open, as it is in the repository."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request


def openapi_route() -> APIRouter:
    router = APIRouter()

    @router.get("/openapi.json", include_in_schema=False)
    async def show_contract(request: Request) -> dict[str, Any]:
        document: dict[str, Any] = request.app.openapi()
        return document

    return router
