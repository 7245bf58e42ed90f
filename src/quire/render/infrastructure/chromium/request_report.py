"""What a document asked for and did not get. It reports; the network namespace is what blocks."""

from __future__ import annotations

MAX_URLS = 50
MAX_URL_CHARACTERS = 300
# Answered inside the renderer, from the document itself.
SELF_CONTAINED = ("data:", "blob:", "about:")


class RequestReport:
    def __init__(self) -> None:
        self._urls: dict[str, None] = {}

    def add(self, url: str) -> None:
        if len(self._urls) < MAX_URLS and not url.startswith(SELF_CONTAINED):
            self._urls[url[:MAX_URL_CHARACTERS]] = None

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(self._urls)
