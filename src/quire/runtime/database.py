"""The one door to Postgres: a small asyncpg pool with a timeout on everything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import asyncpg

from quire.kernel import UnavailableError

if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
else:
    Connection = asyncpg.pool.PoolConnectionProxy

ACQUIRE_TIMEOUT_SECONDS = 10.0
CONNECT_TIMEOUT_SECONDS = 5.0
# The rest goes back to the pool, which closes what a rush left over.
AT_HAND_MAX = 4

# A peer that says nothing, not even that it received, for this long is gone: both ends close the connection. A cut
# network sends no word of it, and the system's own patience is a quarter of an hour, or hours where nothing is sent.
SILENCE_SECONDS = 5.0
_IDLE_SECONDS, _PROBE_SECONDS = 3, 1
# For the server's end; it frees the locks of whoever was cut off in a transaction. Every connection of ours asks so.
NOTICE_SILENCE = {
    "tcp_keepalives_idle": str(_IDLE_SECONDS),
    "tcp_keepalives_interval": str(_PROBE_SECONDS),
    "tcp_user_timeout": str(int(SILENCE_SECONDS * 1000)),
}

# For processes whose few statements all work by key on batches. One plan a statement: parameters teach the planner
# nothing. Never by reading a table from end to end: a plan made while a queue is empty would stay when it is full.
BY_KEY = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}

# What a lost, refused or restarting server raises; all of it is worth another try.
UNREACHABLE = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # What the driver says of a statement whose connection was cut while another of its messages was under way.
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
)


# The server refused for now: deadlock or serialization, no resources, shutting down, failing over.
CONTENDED = (
    asyncpg.TransactionRollbackError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.LockNotAvailableError,
)

# The server answers and does not let us in: a changed password, a missing database, no line in pg_hba.conf.
REFUSED = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError)
# The same, or the URL has a setting that the server does not know.
REFUSED_AT_FIRST = (*REFUSED, asyncpg.UndefinedObjectError)


class DatabaseContendedError(UnavailableError):
    code = "DATABASE_CONTENDED"
    title = "The database could not do this now"


class DatabaseUnavailableError(UnavailableError):
    """A statement under way may have been committed before the connection was lost."""

    code = "DATABASE_UNAVAILABLE"
    title = "The database cannot be reached"
    outcome_unknown = True


class DatabaseRefusedError(UnavailableError):
    """A person has to change the login, the database or its rules."""

    code = "DATABASE_REFUSED"
    title = "The database refused our login"
    retryable = False


def refusal_reason(error: BaseException) -> str:
    """A name that the server does not know helps to mend it; what it says of a login stays with it."""
    reason = str(error) if isinstance(error, asyncpg.UndefinedObjectError) else type(error).__name__
    return f"cannot connect: {reason}"


class Database:
    """A pool, opened once a process. Statements are autocommit unless inside `transaction()`.

    A few connections that came back well stay at hand: the pool's own acquire and release cost tasks of their own
    and as much time as a small statement."""

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        self._pool = pool
        self._at_hand: list[Connection] = []
        self._waiting = 0
        self._closing = False

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        pool_max: int = 10,
        statement_timeout_seconds: float = 15.0,
        application: str = "quire",
        by_key: bool = False,
    ) -> Database:
        """`by_key`: every statement finds its rows by an index. Right for a worker; wrong for lists with filters."""
        try:
            pool = await asyncpg.create_pool(
                dsn,
                # A worker claims, completes and beats at once from its first moment.
                min_size=min(4, pool_max) if by_key else 1,
                max_size=pool_max,
                timeout=CONNECT_TIMEOUT_SECONDS,
                command_timeout=statement_timeout_seconds,
                init=prepare_connection,
                # No statement of ours leaves session state behind; the default reset costs a round trip a release.
                reset=keep_as_is,
                server_settings={
                    "application_name": application,
                    "timezone": "UTC",
                    "idle_in_transaction_session_timeout": "30s",
                    # A JIT compile costs more than any statement here takes.
                    "jit": "off",
                    **NOTICE_SILENCE,
                    **(BY_KEY if by_key else {}),
                },
            )
        except UNREACHABLE as error:
            raise DatabaseUnavailableError(f"cannot connect: {type(error).__name__}") from error
        except REFUSED_AT_FIRST as error:
            raise DatabaseRefusedError(refusal_reason(error)) from error
        return cls(pool)

    async def close(self, timeout_seconds: float = 5.0) -> None:
        self._closing = True
        while self._at_hand:
            await self._pool.release(self._at_hand.pop())
        try:
            await asyncio.wait_for(self._pool.close(), timeout_seconds)
        except TimeoutError:
            self._pool.terminate()

    @contextlib.asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection for one or a few autocommit statements. Lost servers surface as DatabaseUnavailableError."""
        try:
            connection = await self._take()
            try:
                yield connection
            except BaseException:
                # Its state is unknown (a statement may be under way): the pool finds out.
                await self._pool.release(connection)
                raise
            await self._put_back(connection)
        except UNREACHABLE as error:
            raise DatabaseUnavailableError(f"database: {type(error).__name__}") from error
        except CONTENDED as error:
            raise DatabaseContendedError(f"database: {type(error).__name__}") from error
        except REFUSED as error:
            raise DatabaseRefusedError(f"database: {type(error).__name__}") from error

    async def _take(self) -> Connection:
        while self._at_hand:
            connection = self._at_hand.pop()
            if _is_usable(connection):
                return connection
            await self._pool.release(connection)
        self._waiting += 1
        try:
            return await self._pool.acquire(timeout=ACQUIRE_TIMEOUT_SECONDS)
        finally:
            self._waiting -= 1

    async def _put_back(self, connection: Connection) -> None:
        """Who waits is served by the pool; else the connection is kept for the next one."""
        wanted = not self._waiting and not self._closing and len(self._at_hand) < AT_HAND_MAX
        if wanted and _is_usable(connection):
            self._at_hand.append(connection)
        else:
            await self._pool.release(connection)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self.acquire() as connection, connection.transaction():
            yield connection

    async def ping(self) -> None:
        async with self.acquire() as connection:
            await connection.execute("SELECT 1")


class JoinedDatabase(Database):
    """A caller's open transaction in the place of the pool: what is written here commits with it, or not at all."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def close(self, timeout_seconds: float = 5.0) -> None:
        """The connection is the caller's to end."""

    @contextlib.asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        yield self._connection


def _is_usable(connection: Connection) -> bool:
    try:
        return not connection.is_closed() and not connection.is_in_transaction()
    except asyncpg.InterfaceError:
        # The pool has taken it back by itself, because the server ended it.
        return False


async def keep_as_is(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    return None


async def prepare_connection(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """JSON columns travel as Python values, and silence is noticed. Also for connections outside a pool."""
    notice_silence(connection)
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")


def notice_silence(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """For our end; the driver has no setting for it."""
    transport: Any = connection._transport  # type: ignore[attr-defined]
    link = transport.get_extra_info("socket")
    if link is None or link.family == socket.AF_UNIX:
        return
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_SECONDS)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_SECONDS)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SILENCE_SECONDS * 1000))
