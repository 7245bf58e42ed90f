"""From a bearer credential to a principal. Refuses what is unknown, wrong, expired, revoked or disabled.

A valid token is remembered for FRESH_SECONDS and, only while the database cannot be asked, up to
STALE_SECONDS: so a revocation works everywhere within STALE_SECONDS (5 s).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol, cast

import asyncpg

from quire.kernel import ForbiddenError, UnauthenticatedError
from quire.runtime.auth.principal import Principal, Role
from quire.runtime.auth.token import TokenParts, parse_token
from quire.runtime.auth.usage_recorder import UsageRecorder
from quire.runtime.database import Database, DatabaseUnavailableError

FRESH_SECONDS = 3.0
STALE_SECONDS = 5.0
REMEMBERED_TOKENS = 10_000
# Guessing tokens may use a few connections, never the whole pool.
LOOKUPS_AT_ONCE = 4

# An unknown prefix is compared with this, so it costs what a wrong secret costs.
NO_SECRET_HASH = bytes(32)

# find_token: by unique prefix; the database's clock decides on expiry. No locks.
FIND_TOKEN = """
SELECT t.id, t.tenant_id, t.user_name, t.role, t.scopes, t.secret_hash,
       t.revoked_at IS NOT NULL AS revoked,
       extract(epoch FROM t.expires_at - now())::float8 AS seconds_left,
       n.disabled_at IS NOT NULL AS tenant_disabled
FROM tokens t JOIN tenants n ON n.id = t.tenant_id
WHERE t.prefix = $1"""  # noqa: S105 (a query, not a secret)


class Authenticator(Protocol):
    async def authenticate(self, credential: str) -> Principal:
        """SHALL return who presents the credential, or raise UnauthenticatedError (nobody's credential),
        ForbiddenError (of someone who may not enter) or UnavailableError (cannot be decided now)."""
        ...


@dataclass(frozen=True, slots=True)
class _Remembered:
    principal: Principal
    # Monotonic seconds: when the database was asked, and when the token itself ends.
    asked_at: float
    ends_at: float

    def holds(self, now: float, seconds: float) -> bool:
        return now < min(self.asked_at + seconds, self.ends_at)


class TokenAuthenticator:
    def __init__(self, database: Database, usage: UsageRecorder) -> None:
        self._database = database
        self._usage = usage
        self._remembered: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._lookups = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    async def authenticate(self, credential: str) -> Principal:
        parts = parse_token(credential)
        if parts is None:
            raise UnauthenticatedError("the token is not valid", code="TOKEN_INVALID")
        principal = await self._principal_of(parts)
        self._usage.note(principal.token_id)
        return principal

    async def _principal_of(self, parts: TokenParts) -> Principal:
        key = parts.prefix.encode() + parts.secret_hash
        known = self._remembered.get(key)
        if known is not None and known.holds(time.monotonic(), FRESH_SECONDS):
            return known.principal
        async with self._lookups:
            # Another request with the same token may have asked while this one waited.
            known = self._remembered.get(key)
            if known is not None and known.holds(time.monotonic(), FRESH_SECONDS):
                return known.principal
            return await self._ask(parts, key, known)

    async def _ask(self, parts: TokenParts, key: bytes, known: _Remembered | None) -> Principal:
        asked_at = time.monotonic()
        try:
            async with self._database.acquire() as connection:
                row = await connection.fetchrow(FIND_TOKEN, parts.prefix)
        except DatabaseUnavailableError:
            if known is not None and known.holds(time.monotonic(), STALE_SECONDS):
                return known.principal
            raise
        self._remembered.pop(key, None)
        principal = check_token(row, parts)
        self._remember(key, _Remembered(principal, asked_at, _end(row, asked_at)))
        return principal

    def _remember(self, key: bytes, remembered: _Remembered) -> None:
        self._remembered[key] = remembered
        if len(self._remembered) > REMEMBERED_TOKENS:
            self._remembered.popitem(last=False)


def check_token(row: asyncpg.Record | None, parts: TokenParts) -> Principal:
    """Says nothing about a token (expired, revoked, tenant) before its secret has matched."""
    right = parts.matches(row["secret_hash"] if row else NO_SECRET_HASH)
    if row is None or not right:
        raise UnauthenticatedError("the token is not valid", code="TOKEN_INVALID")
    if row["revoked"]:
        raise UnauthenticatedError("the token was revoked", code="TOKEN_REVOKED")
    if row["seconds_left"] is not None and row["seconds_left"] <= 0:
        raise UnauthenticatedError("the token has expired", code="TOKEN_EXPIRED")
    if row["tenant_disabled"]:
        raise ForbiddenError("the tenant is disabled", code="TENANT_DISABLED")
    return Principal(
        token_id=str(row["id"]),
        user=row["user_name"],
        tenant_id=row["tenant_id"],
        role=cast("Role", row["role"]),
        scopes=frozenset(row["scopes"]),
    )


def _end(row: asyncpg.Record | None, asked_at: float) -> float:
    if row is None or row["seconds_left"] is None:
        return float("inf")
    return asked_at + cast("float", row["seconds_left"])
