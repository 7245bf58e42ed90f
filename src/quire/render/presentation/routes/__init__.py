"""Routes of rendering."""

from quire.render.presentation.routes.desk import PdfDesk
from quire.render.presentation.routes.pdf import pdf_routes
from quire.render.presentation.routes.templates import template_routes

__all__ = ["PdfDesk", "pdf_routes", "template_routes"]
