"""Are the same documents the same bytes? Every shipped pack, tagged and untagged, many times, over new processes and
new browsers, several pages at once. Exits with 1 when any document has two hashes.

python -m bench.determinism              200 renders of each pack and form, 4 processes, 3 browsers each
python -m bench.determinism --renders 20
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict

from quire.entrypoints.shipped import shipped_dir
from quire.render import RenderJob, RenderParts, render_pdf
from quire.render.domain.render_options import RenderOptions
from quire.render.infrastructure.chromium import ChromiumOptions, ChromiumPrinter
from quire.render.infrastructure.facturx.invoice_embedder import FacturxInvoiceEmbedder
from quire.render.infrastructure.filesystem.template_store import FolderTemplateStore
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder

PACKS = ("contract", "invoice", "receipt", "report", "statement")
PROCESSES = 4
BROWSERS = 3
PAGES = 4

# Hashes by document; each with how often it came.
Hashes = dict[str, Counter[str]]


def documents() -> dict[str, RenderJob]:
    store = FolderTemplateStore([shipped_dir("templates")], PACKS)
    forms = {"untagged": RenderOptions(), "tagged": RenderOptions(tagged=True, outline=True)}
    packs = [store.pack(name) for name in PACKS]
    return {
        f"{pack.name} {form}": RenderJob(pack.name, pack.version, pack.content_hash, "", pack.sample, options)
        for pack in packs
        for form, options in forms.items()
    }


async def render_share(renders: int) -> Hashes:
    """What one process does: its renders in random order, a new browser every third of them."""
    found: Hashes = defaultdict(Counter)
    for browser in range(BROWSERS):
        count = renders * (browser + 1) // BROWSERS - renders * browser // BROWSERS
        queue = [item for item in documents().items() for _ in range(count)]
        random.shuffle(queue)
        await render_with_new_browser(queue, found)
    return found


async def render_with_new_browser(queue: list[tuple[str, RenderJob]], found: Hashes) -> None:
    store = FolderTemplateStore([shipped_dir("templates")], PACKS)
    printer = ChromiumPrinter(ChromiumOptions(pages_per_browser=PAGES))
    parts = RenderParts(store, JinjaHtmlBuilder(), printer, FacturxInvoiceEmbedder())

    async def work() -> None:
        while queue:
            name, job = queue.pop()
            document = await render_pdf(parts, job, tenant_id="bench")
            found[name][hashlib.sha256(document.data).hexdigest()] += 1

    try:
        await asyncio.gather(*(work() for _ in range(PAGES)))
    finally:
        await printer.close()
        await parts.builder.close()


def render_in_new_process(renders: int) -> Hashes:
    command = [sys.executable, "-m", "bench.determinism", "--share", str(renders)]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {name: Counter(counts) for name, counts in answer.items()}


def measure(renders: int) -> bool:
    started, total = time.monotonic(), defaultdict(Counter)
    for process in range(PROCESSES):
        share = renders * (process + 1) // PROCESSES - renders * process // PROCESSES
        for name, counts in render_in_new_process(share).items():
            total[name] += counts
    seconds = time.monotonic() - started
    for name, counts in sorted(total.items()):
        hashes = ", ".join(f"{digest[:16]} ×{count}" for digest, count in counts.most_common())
        print(f"{name:<20} {counts.total():>5} renders  {len(counts)} hash  {hashes}")
    done = sum(counts.total() for counts in total.values())
    print(f"{done} documents, {PROCESSES} processes, {PROCESSES * BROWSERS} browsers, {seconds:.0f} s")
    return all(len(counts) == 1 for counts in total.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--renders", type=int, default=200, help="of each pack and form")
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share is not None:
        print(json.dumps(asyncio.run(render_share(options.share))))
        return
    if not measure(options.renders):
        sys.exit("the same document has more than one hash")


if __name__ == "__main__":
    main()
