"""`quire tenant create|list|disable|enable`, straight on the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, TypeVar

import typer

from quire.entrypoints.cli.listing import AsJson, show_rows
from quire.entrypoints.cli.with_database import with_database
from quire.runtime.auth import Tenant, TenantStore

app = typer.Typer(help="Tenants.", no_args_is_help=True)

COLUMNS = ("id", "name", "created_at", "disabled_at")

Result = TypeVar("Result")
TenantId = Annotated[str, typer.Argument(help="Tenant id.")]


@app.command("create")
def create(
    tenant_id: TenantId,
    name: Annotated[str, typer.Option(help="For people. Default: the id.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a tenant."""
    _show([_with_tenants(lambda tenants: tenants.create(tenant_id, name))], as_json)


@app.command("list")
def list_tenants(
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 1000, as_json: AsJson = False
) -> None:
    """List tenants by id."""
    _show(_with_tenants(lambda tenants: tenants.page(limit=limit)), as_json)


@app.command("disable")
def disable(tenant_id: TenantId, as_json: AsJson = False) -> None:
    """Refuse a tenant's tokens, everywhere within five seconds."""
    _show([_with_tenants(lambda tenants: tenants.disable(tenant_id))], as_json)


@app.command("enable")
def enable(tenant_id: TenantId, as_json: AsJson = False) -> None:
    """Let a disabled tenant in again."""
    _show([_with_tenants(lambda tenants: tenants.enable(tenant_id))], as_json)


def _with_tenants(work: Callable[[TenantStore], Awaitable[Result]]) -> Result:
    return with_database(lambda database: work(TenantStore(database)))


def _show(tenants: list[Tenant], as_json: bool) -> None:
    show_rows(
        [asdict(tenant) for tenant in tenants], COLUMNS, as_json=as_json, spare=("created_at",), cut=("name",)
    )
