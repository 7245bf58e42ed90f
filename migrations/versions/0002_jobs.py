"""The durable job engine."""

from pathlib import Path

from quire.runtime.migration_script import run_script

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_script(Path(__file__).with_name("0002_jobs.sql").read_text(encoding="utf-8"))
