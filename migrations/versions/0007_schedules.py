"""Schedules, and one row for each of their ticks."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        CREATE TABLE schedules (
            tenant_id       text        NOT NULL,
            name            text        NOT NULL,
            definition      jsonb       NOT NULL,
            handled_until   timestamptz NOT NULL,
            next_at         timestamptz,
            paused_at       timestamptz,
            paused_by       text,
            last_error_code text,
            updated_at      timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, name)
        )
    """)
    op.execute("CREATE INDEX schedules_due ON schedules (next_at) WHERE paused_at IS NULL")
    # The key makes a tick one, however many processes try it.
    op.execute("""
        CREATE TABLE schedule_ticks (
            tenant_id  text        NOT NULL,
            schedule   text        NOT NULL,
            tick_at    timestamptz NOT NULL,
            noted_at   timestamptz NOT NULL DEFAULT now(),
            outcome    text        NOT NULL DEFAULT 'enqueued' CHECK (outcome IN ('enqueued','overlapped','refused')),
            job_id     uuid,
            error_code text,
            PRIMARY KEY (tenant_id, schedule, tick_at)
        )
    """)
    op.execute("CREATE INDEX schedule_ticks_noted ON schedule_ticks (noted_at)")
