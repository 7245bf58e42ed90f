"""POSTs a webhook with everything bounded: time, bytes read, connections. No redirects, no proxies from the
environment, no cookies, no decompression: the answer's status is all that is wanted."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import cached_property

import certifi
import httpcore

import quire
from quire.jobs.domain.webhooks.webhook import Reply
from quire.jobs.domain.webhooks.webhook_errors import WebhookHostError
from quire.jobs.domain.webhooks.webhook_url import WebhookUrl, parse_webhook_url
from quire.jobs.infrastructure.http.checked_network import CheckedNetwork
from quire.kernel import QuireError

RESPONSE_MAX_BYTES = 65_536
# Shorter than servers keep an idle connection, so that it is us who closes it and no request meets a closing one.
KEEP_ALIVE_SECONDS = 2.0
# The status has been said; what follows is read only to use the connection again.
BODY_SECONDS = 1.0
FIXED_HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": f"Quire/{quire.__version__}",
    "Accept-Encoding": "identity",
}


class HttpWebhookSender:
    def __init__(self, *, timeout_seconds: float, allow_private: bool, connections_max: int = 64) -> None:
        self._timeout_seconds = timeout_seconds
        self._allow_private = allow_private
        self._connections_max = connections_max
        self._network = CheckedNetwork(allow_private=allow_private)

    @cached_property
    def _pool(self) -> httpcore.AsyncConnectionPool:
        """Made with the first message: a process that only checks URLs need not read certificates."""
        return httpcore.AsyncConnectionPool(
            ssl_context=_trust(),
            max_connections=self._connections_max,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
            network_backend=self._network,
        )

    async def check(self, url: str) -> None:
        target = parse_webhook_url(url, allow_private=self._allow_private)
        try:
            await asyncio.wait_for(self._network.addresses(target.host, target.port), self._timeout_seconds)
        except TimeoutError:
            raise WebhookHostError(f"{target.host} does not resolve in time") from None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        started = time.monotonic()
        status, error = None, None
        try:
            target = parse_webhook_url(url, allow_private=self._allow_private)
            async with asyncio.timeout(self._timeout_seconds) as limit:
                async with self._request(target, headers, body) as response:
                    status = response.status
                    limit.reschedule(asyncio.get_running_loop().time() + BODY_SECONDS)
                    await _drain(response)
        except TimeoutError:
            error = f"no answer within {self._timeout_seconds:g} s"
        except QuireError as refusal:
            error = f"{refusal.code}: {refusal.detail}"
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as failure:
            error = f"{type(failure).__name__}: {failure}"
        if status is not None:
            # Once it is said, nothing that happens to the rest of the answer takes it back.
            error = None if 200 <= status < 300 else f"HTTP {status}"
        return Reply(status, error, round((time.monotonic() - started) * 1000))

    def _request(
        self, target: WebhookUrl, headers: Mapping[str, str], body: bytes
    ) -> AbstractAsyncContextManager[httpcore.Response]:
        url = httpcore.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.target.encode(),
        )
        sent = {"Host": target.host_header, **FIXED_HEADERS, **headers}
        return self._pool.stream("POST", url, headers=list(sent.items()), content=body)

    async def close(self) -> None:
        if "_pool" in self.__dict__:
            await self._pool.aclose()
        self._network.close()


async def _drain(response: httpcore.Response) -> None:
    """Leaving early closes the connection; a short answer leaves it open for the next message."""
    size = 0
    async for chunk in response.aiter_stream():
        size += len(chunk)
        if size > RESPONSE_MAX_BYTES:
            return


def _trust() -> ssl.SSLContext:
    """The system's authorities (SSL_CERT_FILE adds private ones) and, for bare containers, the usual public ones."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
