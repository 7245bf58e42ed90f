"""How long a gateway's answer may be: something, and no more than it was told."""

from __future__ import annotations

from quire.convert.domain.gateway_errors import BadGatewayAnswerError


class AnswerSize:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size_bytes = 0

    def add(self, size_bytes: int) -> None:
        self._size_bytes += size_bytes
        if self._size_bytes > self._max_bytes:
            raise BadGatewayAnswerError(f"the answer is larger than {self._max_bytes} bytes", status=200)

    def check_whole(self) -> None:
        if not self._size_bytes:
            raise BadGatewayAnswerError("the answer is empty", status=200)
