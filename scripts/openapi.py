"""Writes `contracts/openapi.json` and `contracts/gateway.json` from the two applications, or checks them.

scripts/openapi.py                       write; refuses a change that breaks clients
scripts/openapi.py --allow-breaking      write it all the same
scripts/openapi.py --check               fail when a file is not what its application says
scripts/openapi.py --check --against main    also fail when it breaks clients of that git revision's files
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import asyncpg

from quire.entrypoints.api import ApiParts, assemble_api
from quire.entrypoints.engine import build_engine, read_policies, shipped_handlers
from quire.entrypoints.gateway import assemble_gateway, gateway_desk
from quire.jobs import AdmitAll, CompletionWatch, HandlerRegistry
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.runtime.auth import TokenStore, UsageRecorder
from quire.runtime.database import Database
from quire.runtime.http.openapi.contract_changes import incompatible_changes
from quire.runtime.settings import load_settings
from quire.runtime.storage import open_storage, url_signer
from quire.runtime.telemetry import InstallationMetrics, MetricStore
from quire.runtime.telemetry.metric_shipper import MetricShipper

ROOT = Path(__file__).resolve().parents[1]
CONTRACTS = ROOT / "contracts"

Document = dict[str, Any]


async def api_document() -> Document:
    """Nothing is connected to: a pool that is not awaited opens nothing."""
    with tempfile.TemporaryDirectory() as directory:
        settings = load_settings(
            DATABASE_URL="postgresql://nobody@127.0.0.1:1/none", QUIRE_STORAGE_URL=f"file:{directory}"
        )
        database = Database(asyncpg.create_pool(settings.dsn, min_size=0))
        signer = url_signer(settings)
        async with open_storage(settings, signer=signer) as storage:
            handlers = HandlerRegistry(shipped_handlers(settings))
            engine = build_engine(
                database,
                storage,
                read_policies(settings),
                handlers,
                settings,
                settings.dsn,
                admission=AdmitAll(),
            )
            watch = CompletionWatch(engine.board, engine.broker)
            usage, builder = UsageRecorder(TokenStore(database)), JinjaHtmlBuilder()
            counts = MetricStore(database)
            metrics = InstallationMetrics(counts, MetricShipper(counts, "api"))
            parts = ApiParts(engine, signer, usage, watch, builder, metrics)
            return assemble_api(settings, parts).openapi()


def gateway_document() -> Document:
    """The contract of whoever stands in for it, so with the token that such a one may ask for."""
    settings = load_settings(QUIRE_GATEWAY_TOKEN="any")  # noqa: S106
    return assemble_gateway(settings, gateway_desk(settings)).openapi()


def rendered(document: Document) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


async def current_documents() -> dict[Path, Document]:
    return {
        CONTRACTS / "openapi.json": await api_document(),
        CONTRACTS / "gateway.json": gateway_document(),
    }


def committed(path: Path, revision: str | None) -> Document | None:
    """The file as it lies here, or as a git revision has it; None when there is none yet."""
    if revision is None:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    name = f"{revision}:{path.relative_to(ROOT)}"
    shown = subprocess.run(["git", "show", name], cwd=ROOT, capture_output=True, check=False)
    return json.loads(shown.stdout) if shown.returncode == 0 else None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--against", metavar="REVISION")
    parser.add_argument("--allow-breaking", action="store_true")
    options = parser.parse_args()
    documents = asyncio.run(current_documents())
    breaking = [
        f"{path.name}: {change}"
        for path, document in documents.items()
        for change in incompatible_changes(committed(path, options.against) or {}, document)
    ]
    for change in breaking:
        sys.stderr.write(f"breaks clients: {change}\n")
    if options.check:
        return check(documents) or bool(breaking)
    if breaking and not options.allow_breaking:
        return 1
    for path, document in documents.items():
        path.write_text(rendered(document), encoding="utf-8")
    return 0


def check(documents: dict[Path, Document]) -> int:
    stale = [
        path.name
        for path, document in documents.items()
        if not path.exists() or path.read_text(encoding="utf-8") != rendered(document)
    ]
    for name in stale:
        sys.stderr.write(f"contracts/{name} is not what the application says: run scripts/openapi.py\n")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
