"""`quire token create|list|revoke`, straight on the database: whoever can open it is its administrator."""

from __future__ import annotations

import getpass
import uuid
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, get_args

import typer

from quire.entrypoints.cli.listing import AsJson, show_json, show_rows
from quire.entrypoints.cli.with_database import with_database
from quire.runtime.auth import DEFAULT_TENANT, SCOPES, Role, TenantStore, TokenGrant, TokenRecord, TokenStore
from quire.runtime.auth.token import TokenParts
from quire.runtime.database import Database

app = typer.Typer(help="API tokens.", no_args_is_help=True)

COLUMNS = (
    "id",
    "tenant_id",
    "user",
    "name",
    "prefix",
    "role",
    "scopes",
    "expires_at",
    "last_used_at",
    "revoked_at",
)
SPARE = ("last_used_at", "prefix", "expires_at", "scopes", "revoked_at", "tenant_id", "name")
CUT = ("tenant_id", "user", "name", "scopes")


@app.command("create")
def create(
    user: Annotated[str, typer.Argument(help="Whose token it is.")],
    role: Annotated[Role, typer.Option(help=f"One of {', '.join(get_args(Role))}.")] = "user",
    tenant: Annotated[str, typer.Option(help="Tenant id.")] = DEFAULT_TENANT,
    name: Annotated[str, typer.Option(help="What it is for.")] = "token",
    scope: Annotated[
        list[str] | None, typer.Option(help=f"May be repeated. One of {', '.join(SCOPES)}.")
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="Days until it expires.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token. It is shown this once."""
    grant = TokenGrant(tenant, user, name, role, frozenset(scope or ()), _expiry(days))

    async def work(database: Database) -> tuple[TokenRecord, TokenParts]:
        if tenant == DEFAULT_TENANT:
            await TenantStore(database).ensure_default()
        return await TokenStore(database).create(grant, created_by=f"cli/{getpass.getuser()}")

    record, parts = with_database(work)
    if as_json:
        show_json(asdict(record) | {"token": parts.text})
    else:
        typer.echo(parts.text)


@app.command("list")
def list_tokens(
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List tokens, newest first, without their secrets."""

    async def work(database: Database) -> list[TokenRecord]:
        return await TokenStore(database).page(tenant, limit=limit)

    show_rows(
        [asdict(record) for record in with_database(work)], COLUMNS, as_json=as_json, spare=SPARE, cut=CUT
    )


@app.command("revoke")
def revoke(
    token_id: Annotated[uuid.UUID, typer.Argument(help="The id that `list` shows.")], as_json: AsJson = False
) -> None:
    """Revoke a token; refused everywhere within five seconds."""

    async def work(database: Database) -> TokenRecord:
        return await TokenStore(database).revoke(token_id, None)

    show_rows([asdict(with_database(work))], COLUMNS, as_json=as_json, spare=SPARE, cut=CUT)


def _expiry(days: int | None) -> datetime | None:
    return datetime.now(UTC) + timedelta(days=days) if days else None
