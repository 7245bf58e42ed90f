"""Tenants and API tokens."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE tenants (
        id          text PRIMARY KEY CHECK (id ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
        name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
        created_at  timestamptz NOT NULL DEFAULT now(),
        disabled_at timestamptz
    )
    """,
    """
    CREATE TABLE tokens (
        id           uuid PRIMARY KEY,
        tenant_id    text NOT NULL REFERENCES tenants (id),
        user_name    text NOT NULL CHECK (length(user_name) BETWEEN 1 AND 200),
        name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
        prefix       text NOT NULL UNIQUE,
        secret_hash  bytea NOT NULL CHECK (length(secret_hash) = 32),
        role         text NOT NULL CHECK (role IN ('user', 'operator', 'admin')),
        scopes       text[] NOT NULL DEFAULT '{}',
        created_by   text NOT NULL,
        created_at   timestamptz NOT NULL DEFAULT now(),
        expires_at   timestamptz,
        last_used_at timestamptz,
        revoked_at   timestamptz
    )
    """,
    "CREATE INDEX tokens_tenant ON tokens (tenant_id, id)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE tokens")
    op.execute("DROP TABLE tenants")
