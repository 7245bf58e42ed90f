"""`quire reseal`, straight on the database: the step of a key's change after which the older key can go."""

from __future__ import annotations

from dataclasses import asdict

import typer

from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.with_database import with_database
from quire.entrypoints.webhooks import secret_box
from quire.jobs.application.webhooks.reseal_secrets import reseal_secrets
from quire.jobs.infrastructure.postgres.webhook_book import PostgresWebhookBook
from quire.runtime.settings import load_settings


def reseal(as_json: AsJson = False) -> None:
    """Encrypt webhook secrets under QUIRE_SECRET_KEY that are under QUIRE_SECRET_KEY_ACCEPTED. Exit code 1 when some
    are under neither: rotate those."""
    box = secret_box(load_settings())
    found = with_database(lambda database: reseal_secrets(PostgresWebhookBook(database), box))
    if as_json:
        show_json(asdict(found))
    else:
        typer.echo(f"{found.resealed} resealed, {found.current} current, {found.unreadable} unreadable")
    if found.unreadable:
        raise typer.Exit(1)
