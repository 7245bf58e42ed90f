"""Whose bytes are these: artifacts by their hash.

Built without blocking writers. CONCURRENTLY runs in no transaction, so a build that was cut off leaves an invalid index
behind: it is dropped first.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS artifacts_sha256")
        op.execute("CREATE INDEX CONCURRENTLY artifacts_sha256 ON artifacts (sha256) WHERE state = 'ready'")
