"""Outgoing webhooks: subscriptions, and deliveries created by the transition itself."""

from pathlib import Path

from quire.runtime.migration_script import run_script

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_script(Path(__file__).with_name("0003_webhooks.sql").read_text(encoding="utf-8"))
