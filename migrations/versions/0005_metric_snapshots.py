"""What each process counted, so that the API can tell the sum of all.

A few small rows that are rewritten every few seconds: room on their pages, and an early vacuum. The row of zeros holds
the counts of processes that ended.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE IF NOT EXISTS metric_snapshots (
            process_id uuid PRIMARY KEY,
            process    text NOT NULL,
            figures    jsonb NOT NULL,
            written_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0,
                toast.autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_scale_factor = 0)
    """)
    op.execute("""
        INSERT INTO metric_snapshots (process_id, process, figures)
        VALUES ('00000000-0000-0000-0000-000000000000', 'ended', '{}') ON CONFLICT DO NOTHING
    """)
