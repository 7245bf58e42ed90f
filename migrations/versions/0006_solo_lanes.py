"""Suspects have a lane of their own: jobs that the next crash would make a dead letter, which only a worker that runs
nothing else may claim.

The column has a constant default, so no row is rewritten. The code of the last release ignores it: it claims these jobs
as before and lines up its own as plain ones. The index is built without blocking writers; a build that was cut off
leaves an invalid one behind, so it is dropped first.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE job_lanes ADD COLUMN IF NOT EXISTS solo boolean NOT NULL DEFAULT false")
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS job_lanes_solo")
        op.execute(
            "CREATE INDEX CONCURRENTLY job_lanes_solo ON job_lanes (queue, priority, run_at, job_id) WHERE solo"
        )
