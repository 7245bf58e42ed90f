"""The invoices of a run: the shipped sample under numbers of its own, as payloads and as finished HTML.

Every number is given once, so nothing is answered from an earlier render.
"""

from __future__ import annotations

import copy
import itertools
from pathlib import Path

from quire.entrypoints.render import open_templates
from quire.render.domain.page_document import page_document
from quire.render.domain.render_options import RenderOptions
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.runtime.settings import load_settings

Payload = dict[str, object]
TEMPLATE = "invoice"
# Browsers remember nothing of a page's content, so a bare loop may begin again with the first of them.
HTML_FILES = 40


class Invoices:
    def __init__(self) -> None:
        self._pack = open_templates(load_settings()).pack(TEMPLATE)
        self._numbers = itertools.count(1)

    def next_payload(self, *, e_invoice: bool = True) -> Payload:
        return {"template_name": TEMPLATE, "payload": self._data(next(self._numbers), e_invoice)}

    async def write_html(self, directory: Path) -> None:
        """What Quire gives its browser for the same data, so that all peers lay out the same document."""
        directory.mkdir()
        builder = JinjaHtmlBuilder()
        try:
            for number in range(HTML_FILES):
                filled = await builder.build(self._pack, self._data(number, e_invoice=True))
                html = page_document(filled, self._pack, RenderOptions())
                (directory / f"{number:03}.html").write_text(html, encoding="utf-8")
        finally:
            await builder.close()

    def _data(self, number: int, e_invoice: bool) -> Payload:
        data = copy.deepcopy(dict(self._pack.sample))
        data["number"] = f"2026-{number:06}"
        if not e_invoice:
            del data["e_invoice"]
        return data
