"""The gateway over HTTP: `POST {GATEWAY_URL}/process`, streamed both ways; `GET {GATEWAY_URL}/health` when in doubt."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from email.utils import parsedate_to_datetime

import httpx

from quire.convert.domain.gateway_code import checked_code
from quire.convert.domain.gateway_errors import (
    BadGatewayAnswerError,
    GatewayError,
    GatewayFailedError,
    GatewayTimeoutError,
    GatewayUnreachableError,
    refusal_of,
)
from quire.convert.domain.voucher import voucher_in
from quire.convert.infrastructure.http.multipart_body import MultipartBody
from quire.convert.ports.v1.gateway_client import GatewayAnswer, PdfSource

CONNECT_SECONDS = 10.0
HEALTH_SECONDS = 3.0
CHUNK_BYTES = 262_144
# Of an error's body: enough for its code and sentence.
ERROR_BODY_BYTES = 8192
WORDS_LENGTH = 300


class HttpGatewayClient:
    def __init__(self, url: str, *, timeout_seconds: float, connections_max: int, token: str = "") -> None:
        self._url = url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._http = httpx.AsyncClient(
            # The whole call has one deadline; connecting has a shorter one of its own.
            timeout=httpx.Timeout(None, connect=min(CONNECT_SECONDS, timeout_seconds)),
            # Each call on a connection of its own: one that the gateway closed a moment ago would cost an attempt.
            limits=httpx.Limits(max_connections=2 * connections_max, max_keepalive_connections=0),
            headers={
                "Accept-Encoding": "identity",
                **({"Authorization": f"Bearer {token}"} if token else {}),
            },
            # An internal address: a proxy of the environment does not lead there.
            trust_env=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    @contextlib.asynccontextmanager
    async def process(self, mapping: str, pdf: PdfSource) -> AsyncIterator[GatewayAnswer]:
        deadline = asyncio.get_running_loop().time() + self._timeout_seconds
        body = MultipartBody(mapping, pdf)
        request = self._http.build_request(
            "POST",
            f"{self._url}/process",
            headers={**body.headers, "Accept": "application/xml"},
            content=body.chunks(),
        )
        with self._typed_errors():
            async with asyncio.timeout_at(deadline):
                answer = await self._http.send(request, stream=True)
        try:
            if answer.status_code != 200:
                raise await self._refusal(answer, deadline)
            if answer.headers.get("Content-Encoding", "identity") != "identity":
                raise BadGatewayAnswerError("the answer is compressed, which nobody asked for", status=200)
            yield GatewayAnswer(self._chunks(answer, deadline), voucher_in(answer.headers))
        finally:
            await answer.aclose()

    async def _chunks(self, answer: httpx.Response, deadline: float) -> AsyncIterator[bytes]:
        chunks = answer.aiter_raw(CHUNK_BYTES)
        while chunk := await self._next(chunks, deadline):
            yield chunk

    async def _next(self, chunks: AsyncIterator[bytes], deadline: float) -> bytes:
        """Empty at the end. The deadline is not around the whole loop: what is done with a chunk is not ours to
        cancel."""
        with self._typed_errors():
            async with asyncio.timeout_at(deadline):
                return await anext(chunks, b"")

    @contextlib.contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL) as error:
            raise GatewayUnreachableError(f"the gateway cannot be reached: {type(error).__name__}") from None
        except (TimeoutError, httpx.TimeoutException):
            raise GatewayTimeoutError(
                f"no answer within {self._timeout_seconds:g} s (GATEWAY_TIMEOUT_MS)"
            ) from None
        except httpx.TransportError as error:
            raise GatewayFailedError(f"the connection to the gateway broke: {type(error).__name__}") from None

    async def _refusal(self, answer: httpx.Response, deadline: float) -> GatewayError:
        code, detail = None, ""
        # Its status says enough; a body that does not come takes nothing away from that.
        with contextlib.suppress(GatewayError):
            code, detail = _words_of(await self._next(answer.aiter_raw(ERROR_BODY_BYTES), deadline))
        return refusal_of(answer.status_code, detail, _retry_after(answer), gateway_code=code)

    async def answers(self) -> bool:
        try:
            answer = await self._http.get(f"{self._url}/health", timeout=HEALTH_SECONDS)
        except (httpx.HTTPError, httpx.InvalidURL):
            return False
        # Another gateway may know no such page; then it is at least there.
        return answer.status_code < 500


def _words_of(body: bytes) -> tuple[str | None, str]:
    """Code and sentence of a problem answer; of other bodies nothing is repeated."""
    try:
        problem = json.loads(body)
        said = problem.get("error_code"), problem.get("detail")
    except (ValueError, AttributeError):
        return None, ""
    code = checked_code(said[0])
    words = said[1:] if code else said
    return code, " ".join(part[:WORDS_LENGTH] for part in words if isinstance(part, str))


def _retry_after(answer: httpx.Response) -> float:
    """In seconds. A date is held against the answer's own: the clocks of two machines differ."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        pause = parsedate_to_datetime(text) - parsedate_to_datetime(answer.headers.get("Date", ""))
    except (OverflowError, TypeError, ValueError):
        return 0.0
    return pause.total_seconds()
