"""Connects only to addresses that were checked a moment ago: the name is resolved here, once, and the connection
goes to the very address that passed. A DNS answer that changes between check and connect has no second chance."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpcore

from quire.jobs.domain.webhooks.webhook_address import is_public
from quire.jobs.domain.webhooks.webhook_errors import WebhookAddressError, WebhookHostError

# Name servers may be slow; they must not take the threads that storage works with.
RESOLVER_THREADS = 8
# What one name may stand for; each address that does not answer costs part of the time limit.
ADDRESSES_MAX = 4


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._plain = httpcore.AnyIOBackend()
        self._threads = ThreadPoolExecutor(RESOLVER_THREADS, thread_name_prefix="webhook-dns")

    async def addresses(self, host: str, port: int) -> list[str]:
        """All of a name's addresses must be allowed: one bad among them is a trap or a mistake."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        except (OSError, UnicodeError):
            raise WebhookHostError(f"{host} does not resolve") from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not addresses:
            raise WebhookHostError(f"{host} does not resolve")
        if not self._allow_private and not all(map(is_public, addresses)):
            raise WebhookAddressError(f"{host} is not on the public internet")
        return addresses[:ADDRESSES_MAX]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """The TLS name and the Host header come from the request, so a pinned address does not change them."""
        refusal: Exception = httpcore.ConnectError("no address")
        for address in await self.addresses(host, port):
            try:
                return await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refusal = error
        raise refusal

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
