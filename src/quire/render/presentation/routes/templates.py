"""`/pdf/templates`: the packs that may be used, with the schema and a sample of each payload."""

from __future__ import annotations

from fastapi import APIRouter

from quire.render.domain.errors import TemplateError, TemplateNotFoundError
from quire.render.ports.v1.template_store import TemplateStore
from quire.render.presentation.schemas.pdf import TemplateDetailView, TemplateView, template_view
from quire.runtime.http import CurrentPrincipal, StrictRoute


def template_routes(templates: TemplateStore) -> APIRouter:
    router = APIRouter(prefix="/pdf/templates", tags=["pdf"], route_class=StrictRoute)

    @router.get("")
    async def list_templates(caller: CurrentPrincipal) -> list[TemplateView]:
        """The allowlist."""
        packs = [(templates.pack(name), list(templates.versions(name))) for name in templates.names()]
        return [template_view(pack, versions) for pack, versions in packs]

    @router.get("/{name}")
    async def show_template(caller: CurrentPrincipal, name: str) -> TemplateDetailView:
        try:
            return template_view(templates.pack(name), list(templates.versions(name)))
        except TemplateError as error:
            raise TemplateNotFoundError(error.detail) from None

    return router
