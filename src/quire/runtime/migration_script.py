"""Runs a whole SQL script in a migration; SQLAlchemy's asyncpg dialect takes one statement a call."""

from __future__ import annotations

from typing import Any

from alembic import op


def run_script(sql: str) -> None:
    """Runs in the migration's own transaction: all of the script and the new version number, or nothing."""
    bind = op.get_bind()
    # The dialect begins its transaction at the first statement it sees, and it does not see the script.
    bind.exec_driver_sql("SELECT 1")
    driver: Any = bind.connection.dbapi_connection
    driver.run_async(lambda connection: connection.execute(sql))
