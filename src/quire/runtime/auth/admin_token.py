"""The first admin token: made once, kept in a private file, replaced when it no longer works."""

from __future__ import annotations

import os
from pathlib import Path

from quire.kernel import QuireError
from quire.runtime.auth.authenticator import FIND_TOKEN, check_token
from quire.runtime.auth.principal import PLATFORM_SCOPE
from quire.runtime.auth.tenant_store import CREATE_TENANT, DEFAULT_TENANT
from quire.runtime.auth.token import parse_token
from quire.runtime.auth.token_store import TokenGrant, insert_token
from quire.runtime.database import Connection, Database

ADMIN_GRANT = TokenGrant(
    tenant_id=DEFAULT_TENANT,
    user="admin",
    name="first admin token",
    role="admin",
    scopes=frozenset({PLATFORM_SCOPE}),
)

# ensure_admin_lock: processes that start together make one token. Held to the end of the transaction.
ENSURE_ADMIN_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('quire.admin_token', 0))"


async def ensure_admin_token(database: Database, path: Path) -> str:
    async with database.transaction() as connection:
        await connection.execute(ENSURE_ADMIN_LOCK)
        await connection.execute(CREATE_TENANT, DEFAULT_TENANT, "Default")
        kept = _read(path)
        if kept and await _works(connection, kept):
            path.chmod(0o600)
            return kept
        _, parts = await insert_token(connection, ADMIN_GRANT, created_by="quire")
        # Written before the commit: a file without its row is replaced at the next start, a row without its
        # file would be an admin token nobody knows.
        _write_private(path, parts.text + "\n")
    return parts.text


async def _works(connection: Connection, text: str) -> bool:
    parts = parse_token(text)
    if parts is None:
        return False
    try:
        principal = check_token(await connection.fetchrow(FIND_TOKEN, parts.prefix), parts)
    except QuireError as error:
        # A disabled tenant is a decision; a second token would not get around it.
        return error.code == "TENANT_DISABLED"
    return principal.has_role("admin") and principal.has_scope(PLATFORM_SCOPE)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def _write_private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
