"""Takes a webhook's URL apart, once and strictly: what is connected to are these parts, never the text again, so
there are no two readings of one URL. It refuses every spelling that another parser could read differently."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from quire.jobs.domain.webhooks.webhook_errors import WebhookUrlError

LONGEST = 2000
DEFAULT_PORTS = {"https": 443, "http": 80}
LOWEST_FREE_PORT = 1024
# Printable ASCII without what no URL holds unescaped. The backslash is a slash to some parsers.
_TEXT = re.compile(r"[!#-;=?-\[\]_a-z~]+", re.IGNORECASE)
# Our own reading: the library's forgives text around brackets, empty ports and zones.
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[^\[\]:@]+))(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?")
# A last label like this makes a resolver read the whole name as a number: 2130706433, 0x7f.1, 0177.0.0.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    scheme: str
    host: str
    port: int
    target: str

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse_webhook_url(text: str, *, allow_private: bool) -> WebhookUrl:
    """Raises WebhookUrlError. Where the host leads is another question: see `webhook_address`."""
    if len(text) > LONGEST or not _TEXT.fullmatch(text):
        raise WebhookUrlError(f"a URL is at most {LONGEST} characters of unescaped ASCII")
    parts = _split(text)
    scheme = parts.scheme
    if scheme not in DEFAULT_PORTS or (scheme == "http" and not allow_private):
        raise WebhookUrlError("the URL must begin with https://")
    authority = _AUTHORITY.fullmatch(parts.netloc.lower())
    if authority is None or "#" in text:
        raise WebhookUrlError("a webhook's URL is a host, a port and a path: no user, password or fragment")
    host = _literal(authority["v6"]) if authority["v6"] else _host(authority["name"])
    port = _port(int(authority["port"] or DEFAULT_PORTS[scheme]), allow_private)
    query = f"?{parts.query}" if parts.query else ""
    return WebhookUrl(scheme, host, port, (parts.path or "/") + query)


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:
        raise WebhookUrlError("not a URL") from None


def _host(name: str) -> str:
    host = name.removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise WebhookUrlError("the host is not a name; write an international one in its xn-- form")
    return _literal(host) if _NUMBER.fullmatch(labels[-1]) else host


def _literal(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        raise WebhookUrlError("the host is neither a name nor an address in its usual form") from None


def _port(port: int, allow_private: bool) -> int:
    usual = port in DEFAULT_PORTS.values() or port >= LOWEST_FREE_PORT
    if not 0 < port < 65536 or not (usual or allow_private):
        raise WebhookUrlError(f"the port must be 443, 80 or from {LOWEST_FREE_PORT} to 65535")
    return port
