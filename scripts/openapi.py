"""Writes `contracts/openapi.json` from the application, or checks it.

scripts/openapi.py                       write; refuses a change that breaks clients
scripts/openapi.py --allow-breaking      write it all the same
scripts/openapi.py --check               fail when the file is not what the application says
scripts/openapi.py --check --against main    also fail when it breaks clients of that git revision's file
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
from quire.jobs import AdmitAll, CompletionWatch, HandlerRegistry
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.runtime.auth import TokenStore, UsageRecorder
from quire.runtime.database import Database
from quire.runtime.http.contract_changes import incompatible_changes
from quire.runtime.settings import load_settings
from quire.runtime.storage import open_storage, url_signer

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = ROOT / "contracts" / "openapi.json"

Document = dict[str, Any]


async def current_document() -> Document:
    """Nothing is connected to: a pool that is not awaited opens nothing."""
    with tempfile.TemporaryDirectory() as directory:
        settings = load_settings(
            DATABASE_URL="postgresql://nobody@127.0.0.1:1/none", QUIRE_STORAGE_URL=f"file:{directory}"
        )
        database = Database(asyncpg.create_pool(settings.dsn, min_size=0))
        signer = url_signer(settings)
        async with open_storage(settings, signer=signer) as storage:
            handlers = HandlerRegistry(shipped_handlers())
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
            parts = ApiParts(engine, signer, usage, watch, builder)
            return assemble_api(settings, parts).openapi()


def rendered(document: Document) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def committed(revision: str | None) -> Document | None:
    """The file as it lies here, or as a git revision has it; None when there is none yet."""
    if revision is None:
        return json.loads(CONTRACT.read_text(encoding="utf-8")) if CONTRACT.exists() else None
    name = f"{revision}:{CONTRACT.relative_to(ROOT)}"
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
    document = asyncio.run(current_document())
    breaking = incompatible_changes(committed(options.against) or {}, document)
    for change in breaking:
        sys.stderr.write(f"breaks clients: {change}\n")
    if options.check:
        return check(document) or bool(breaking)
    if breaking and not options.allow_breaking:
        return 1
    CONTRACT.write_text(rendered(document), encoding="utf-8")
    return 0


def check(document: Document) -> int:
    if CONTRACT.exists() and CONTRACT.read_text(encoding="utf-8") == rendered(document):
        return 0
    sys.stderr.write("contracts/openapi.json is not what the application says: run scripts/openapi.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
