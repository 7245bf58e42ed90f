"""The same document is the same bytes: every pack, tagged and untagged, from a warm page and after a new browser."""

from __future__ import annotations

import hashlib
from collections import defaultdict

from tests.unit.render.packs import NAMES, STORE

from quire.render import RenderJob, RenderParts, render_pdf
from quire.render.domain.render_options import RenderOptions
from quire.render.infrastructure.chromium import ChromiumOptions, ChromiumPrinter
from quire.render.infrastructure.facturx.invoice_embedder import FacturxInvoiceEmbedder
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder


def jobs() -> list[RenderJob]:
    packs = [STORE.pack(name) for name in NAMES]
    options = [RenderOptions(), RenderOptions(tagged=True, outline=True)]
    return [
        RenderJob(pack.name, pack.version, pack.content_hash, "", pack.sample, chosen)
        for pack in packs
        for chosen in options
    ]


async def test_every_pack_gives_the_same_bytes_from_warm_pages_and_after_a_new_browser() -> None:
    hashes: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for browser in range(2):
        parts = RenderParts(
            STORE, JinjaHtmlBuilder(), ChromiumPrinter(ChromiumOptions()), FacturxInvoiceEmbedder()
        )
        try:
            # The other way round the second time: each document meets other neighbours.
            for job in jobs() if browser == 0 else reversed(jobs()):
                document = await render_pdf(parts, job, tenant_id="acme")
                key = (job.template_name, job.options.tagged)
                hashes[key].add(hashlib.sha256(document.data).hexdigest())
        finally:
            await parts.printer.close()
            await parts.builder.close()
    assert {key: len(found) for key, found in hashes.items()} == dict.fromkeys(hashes, 1)
    assert len({digest for found in hashes.values() for digest in found}) == len(jobs())
