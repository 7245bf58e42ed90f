"""Where the API of this machine listens: checked to be free before anything else is started."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from quire.kernel import ConflictError
from quire.runtime.free_port import free_port

_PROBE_TIMEOUT_SECONDS = 1.0
# Addresses that mean "every interface" and the one to reach them by from here.
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


class PortTakenError(ConflictError):
    code = "PORT_TAKEN"
    title = "The port is taken"


@dataclass(frozen=True)
class ListenAddress:
    host: str
    port: int

    @classmethod
    def choose(cls, host: str, port: int) -> ListenAddress:
        """Port 0 becomes a free one here, so that it stays the same when the API is restarted."""
        port = port or free_port(host)
        try:
            with socket.create_server((host, port), family=_family(host)) as probe:
                return cls(host, int(probe.getsockname()[1]))
        except OSError as error:
            raise PortTakenError(
                f"cannot listen on {host}:{port} ({error.strerror}): stop what listens there "
                f"(`ss -ltnp 'sport = :{port}'` shows it) or take another port, `--port 0` for any free one"
            ) from None

    @property
    def url(self) -> str:
        near = _WILDCARDS.get(self.host, self.host)
        return f"http://[{near}]:{self.port}" if ":" in near else f"http://{near}:{self.port}"

    def is_ready(self) -> bool:
        """Whether /readyz answers 200 now."""
        return self._body_of("/readyz") is not None

    def has_workers(self, token: str) -> bool:
        """Whether the API sees a live worker now."""
        body = self._body_of("/workers", {"Authorization": f"Bearer {token}"})
        return body is not None and bool(json.loads(body)["items"])

    def _body_of(self, path: str, headers: Mapping[str, str] | None = None) -> bytes | None:
        """None unless the answer is 200."""
        connection = http.client.HTTPConnection(
            _WILDCARDS.get(self.host, self.host), self.port, timeout=_PROBE_TIMEOUT_SECONDS
        )
        try:
            connection.request("GET", path, headers=dict(headers or {}))
            answer = connection.getresponse()
            return answer.read() if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
