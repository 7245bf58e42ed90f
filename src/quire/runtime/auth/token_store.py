"""Tokens in Postgres. Every list and change names its tenant; `None` means all of them (platform scope)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import asyncpg

from quire.kernel import InvalidInputError, NotFoundError, new_uuid7, there_is
from quire.runtime.auth.principal import SCOPES, Role
from quire.runtime.auth.token import TokenParts, mint_token
from quire.runtime.database import Connection, Database

# The secret's hash is asked for by nobody but the authenticator.
COLUMNS = """id, tenant_id, user_name, name, prefix, role, scopes, created_by, created_at, expires_at,
    last_used_at, revoked_at"""

# insert_token: one new row; a taken prefix conflicts and inserts nothing. Locks only the tenant's key.
INSERT_TOKEN = f"""
INSERT INTO tokens (id, tenant_id, user_name, name, prefix, secret_hash, role, scopes, created_by, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (prefix) DO NOTHING
RETURNING {COLUMNS}"""  # noqa: S608 (constants only)

# list_tokens: newest first, after a cursor. No locks.
LIST_TOKENS = f"""
SELECT {COLUMNS} FROM tokens
WHERE ($1::text IS NULL OR tenant_id = $1) AND ($2::uuid IS NULL OR id < $2)
ORDER BY id DESC LIMIT $3"""  # noqa: S608 (constants only)

# revoke_token: idempotent; the first revocation's time stays. Locks the one row.
REVOKE_TOKEN = f"""
UPDATE tokens SET revoked_at = coalesce(revoked_at, now())
WHERE id = $1 AND ($2::text IS NULL OR tenant_id = $2)
RETURNING {COLUMNS}"""  # noqa: S608 (constants only)

# record_use: at most one write a minute and token, whatever the number of processes that saw it.
RECORD_USE = """
UPDATE tokens SET last_used_at = now()
WHERE id = ANY($1::uuid[]) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')"""


@dataclass(frozen=True, slots=True)
class TokenRecord:
    id: uuid.UUID
    tenant_id: str
    user: str
    name: str
    prefix: str
    role: Role
    scopes: tuple[str, ...]
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class TokenGrant:
    """What a new token is asked to carry."""

    tenant_id: str
    user: str
    name: str
    role: Role = "user"
    scopes: frozenset[str] = frozenset()
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        for scope in sorted(self.scopes - set(SCOPES)):
            raise InvalidInputError(
                f"no scope {scope[:60]!r}; {there_is(SCOPES, scope)}", code="SCOPE_UNKNOWN"
            )


class TokenStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, grant: TokenGrant, *, created_by: str) -> tuple[TokenRecord, TokenParts]:
        """The parts carry the secret, which nothing can show again."""
        async with self._database.acquire() as connection:
            return await insert_token(connection, grant, created_by=created_by)

    async def page(
        self, tenant_id: str | None, *, after: uuid.UUID | None = None, limit: int = 100
    ) -> list[TokenRecord]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(LIST_TOKENS, tenant_id, after, limit)
        return [_record(row) for row in rows]

    async def revoke(self, token_id: uuid.UUID, tenant_id: str | None) -> TokenRecord:
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(REVOKE_TOKEN, token_id, tenant_id)
        if row is None:
            raise NotFoundError("no such token", code="TOKEN_NOT_FOUND")
        return _record(row)

    async def record_use(self, token_ids: list[uuid.UUID]) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(RECORD_USE, token_ids)


async def insert_token(
    connection: Connection, grant: TokenGrant, *, created_by: str
) -> tuple[TokenRecord, TokenParts]:
    while True:
        parts = mint_token()
        try:
            row = await connection.fetchrow(INSERT_TOKEN, *_values(grant, parts, created_by))
        except asyncpg.ForeignKeyViolationError:
            raise NotFoundError(f"no tenant {grant.tenant_id}", code="TENANT_NOT_FOUND") from None
        except asyncpg.CheckViolationError:
            raise InvalidInputError("user and name have 1 to 200 characters", code="GRANT_INVALID") from None
        if row is not None:
            return _record(row), parts


def _values(grant: TokenGrant, parts: TokenParts, created_by: str) -> tuple[object, ...]:
    return (
        new_uuid7(),
        grant.tenant_id,
        grant.user,
        grant.name,
        parts.prefix,
        parts.secret_hash,
        grant.role,
        sorted(grant.scopes),
        created_by,
        grant.expires_at,
    )


def _record(row: asyncpg.Record) -> TokenRecord:
    return TokenRecord(
        id=row["id"],
        tenant_id=row["tenant_id"],
        user=row["user_name"],
        name=row["name"],
        prefix=row["prefix"],
        role=cast("Role", row["role"]),
        scopes=tuple(row["scopes"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
    )
