"""Tenants in Postgres: created once, disabled and enabled, never deleted (their work outlives them)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from quire.kernel import ConflictError, InvalidInputError, NotFoundError
from quire.runtime.database import Database

TENANT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
NAME_LENGTH = 200
# Whose tokens and work everything is until somebody names another.
DEFAULT_TENANT = "default"

# create_tenant: conflicts leave the row as it is and return nothing.
CREATE_TENANT = """
INSERT INTO tenants (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING
RETURNING id, name, created_at, disabled_at"""

# list_tenants: by id, after a cursor. No locks.
LIST_TENANTS = """
SELECT id, name, created_at, disabled_at FROM tenants
WHERE ($1::text IS NULL OR id > $1) ORDER BY id LIMIT $2"""

# disable_tenant: idempotent; the first time stays. Locks the one row.
DISABLE_TENANT = """
UPDATE tenants SET disabled_at = coalesce(disabled_at, now()) WHERE id = $1
RETURNING id, name, created_at, disabled_at"""

# enable_tenant: idempotent. Locks the one row.
ENABLE_TENANT = """
UPDATE tenants SET disabled_at = NULL WHERE id = $1
RETURNING id, name, created_at, disabled_at"""


@dataclass(frozen=True, slots=True)
class Tenant:
    id: str
    name: str
    created_at: datetime
    disabled_at: datetime | None


class TenantStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, tenant_id: str, name: str = "") -> Tenant:
        if len(name) > NAME_LENGTH:
            raise InvalidInputError(
                f"a name has at most {NAME_LENGTH} characters", code="TENANT_NAME_INVALID"
            )
        if not TENANT_ID.fullmatch(tenant_id):
            raise InvalidInputError(
                "a tenant id has 1 to 63 of a-z, 0-9, _ and -, starting with a letter or digit",
                code="TENANT_ID_INVALID",
            )
        row = await self._one(CREATE_TENANT, tenant_id, name or tenant_id)
        if row is None:
            raise ConflictError(f"tenant {tenant_id} exists", code="TENANT_EXISTS")
        return _tenant(row)

    async def ensure_default(self) -> None:
        """A migrated database has no tenant yet; the first token makes this one. A disabled one stays disabled."""
        await self._one(CREATE_TENANT, DEFAULT_TENANT, "Default")

    async def page(self, *, after: str | None = None, limit: int = 100) -> list[Tenant]:
        async with self._database.acquire() as connection:
            return [_tenant(row) for row in await connection.fetch(LIST_TENANTS, after, limit)]

    async def disable(self, tenant_id: str) -> Tenant:
        return await self._changed(DISABLE_TENANT, tenant_id)

    async def enable(self, tenant_id: str) -> Tenant:
        return await self._changed(ENABLE_TENANT, tenant_id)

    async def _changed(self, statement: str, tenant_id: str) -> Tenant:
        row = await self._one(statement, tenant_id)
        if row is None:
            raise NotFoundError(f"no tenant {tenant_id}", code="TENANT_NOT_FOUND")
        return _tenant(row)

    async def _one(self, statement: str, *values: object) -> asyncpg.Record | None:
        async with self._database.acquire() as connection:
            return await connection.fetchrow(statement, *values)


def _tenant(row: asyncpg.Record) -> Tenant:
    return Tenant(**dict(row))
