"""`/pdf`: ask for a document, follow it, fetch it. The API process never launches a browser."""

from __future__ import annotations

from fastapi import APIRouter

from quire.render.presentation.routes.asking import add_asking
from quire.render.presentation.routes.desk import PdfDesk
from quire.render.presentation.routes.fetching import add_fetching
from quire.render.presentation.routes.following import add_following
from quire.runtime.http import StrictRoute


def pdf_routes(desk: PdfDesk) -> APIRouter:
    router = APIRouter(prefix="/pdf", tags=["pdf"], route_class=StrictRoute)
    for add in (add_asking, add_following, add_fetching):
        add(router, desk)
    return router
