"""The HTTP API of a running Quire, as the commands use it. One problem answer is one typed error."""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit

import httpx

from quire.kernel import InvalidInputError, QuireError, UnavailableError

CONNECT_SECONDS = 5.0
# Longer than the longest long poll of the API.
ANSWER_SECONDS = 60.0
# How often a request goes out again because of the rate limit.
SENDS_MAX = 6
PAGE_MAX = 500
# A new document is 202.
EXISTING = 200
NO_RENDERER = {
    "error_code": "PDF_RENDER_UNAVAILABLE",
    "detail": "no renderer lives; the API offers the page as HTML",
    "retryable": True,
}


class ByteSink(Protocol):
    def write(self, data: bytes, /) -> int: ...


class ApiUnreachableError(UnavailableError):
    code = "API_UNREACHABLE"
    title = "The API cannot be reached"


class ApiRefusalError(QuireError):
    """What the API refused, under the API's own code."""

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        super().__init__(
            str(problem.get("detail", f"status {status}")),
            code=str(problem.get("error_code", "API_ANSWER_ODD")),
            retryable=bool(problem.get("retryable", status >= 500)),
            extra={key: problem[key] for key in ("job_id",) if key in problem},
        )
        self.status = status


class ApiClient:
    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise InvalidInputError(f"{url!r} is no http or https URL", code="URL_INVALID")
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            # A proxy of the environment does not lead back to this machine.
            trust_env=not _is_near(self.url),
        )

    def __enter__(self) -> ApiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **params: Any) -> Any:
        return self._send("GET", path, params=_given(params)).json()

    def post(self, path: str, body: object = None) -> Any:
        return self._send("POST", path, json=body).json()

    def post_document(self, body: object) -> tuple[str, bool]:
        """The job's id, and whether it was there already."""
        answer = self._send("POST", "/pdf/jobs", json=body)
        if "X-Pdf-Fallback" in answer.headers:
            # The page in place of the document: whoever waits for a job got none.
            raise ApiRefusalError(NO_RENDERER, answer.status_code)
        return str(answer.json()["job_id"]), answer.status_code == EXISTING

    def post_pdf(self, file: BinaryIO, mapping: str) -> tuple[str, bool]:
        """To be converted: the job's id, and whether it was there already. The file is read while it is sent; its name
        stays here."""
        form = {"files": {"file": ("input", file)}, "data": {"mapping": mapping}}
        answer = self._send("POST", "/convert/jobs", **form)
        return str(answer.json()["job_id"]), answer.status_code == EXISTING

    def post_text(self, path: str, body: object) -> str:
        """For answers that are pages."""
        return self._send("POST", path, json=body).text

    def items(self, path: str, limit: int, **params: Any) -> tuple[list[dict[str, Any]], bool]:
        """Up to `limit` items of a paged list, and whether there are more: one more is asked for, since a page that
        comes out even has a cursor too."""
        found: list[dict[str, Any]] = []
        cursor = None
        while len(found) <= limit:
            page = self.get(path, **params, limit=min(PAGE_MAX, limit + 1 - len(found)), cursor=cursor)
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return found[:limit], len(found) > limit

    def download(self, path: str, target: ByteSink) -> int:
        """Writes the bytes as they come; how many there were."""
        written = 0
        with _reachable(self.url), self._http.stream("GET", path) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            for chunk in answer.iter_bytes():
                written += target.write(chunk)
        return written

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        for sends_left in reversed(range(SENDS_MAX)):
            with _reachable(self.url):
                answer = self._http.request(method, path, **options)
            if answer.status_code != 429 or not sends_left:
                break
            time.sleep(min(10.0, float(answer.headers.get("Retry-After", "1"))))
        if answer.is_success:
            return answer
        raise _refusal(answer)


@contextlib.contextmanager
def _reachable(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise ApiUnreachableError(_in_words(error, url)) from None


def _in_words(error: httpx.HTTPError, url: str) -> str:
    if isinstance(error, httpx.ConnectError):
        return (
            f"nothing answers at {url}: start it with `quire up`, or say where it is with --url or QUIRE_URL"
        )
    if isinstance(error, httpx.TimeoutException):
        return f"{url} did not answer in time: try again, and look at it with `quire doctor`"
    return f"the connection to {url} broke before the answer was there: try again"


def _refusal(answer: httpx.Response) -> ApiRefusalError:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    return ApiRefusalError(problem if isinstance(problem, dict) else {}, answer.status_code)


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _is_near(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
