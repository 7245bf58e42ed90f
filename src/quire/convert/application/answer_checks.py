"""Several checks of one answer, each of which has to pass."""

from __future__ import annotations

from quire.convert.ports.v1.answer_check import AnswerCheck


class AnswerChecks:
    """Implements `AnswerCheck`."""

    def __init__(self, *checks: AnswerCheck) -> None:
        self._checks = checks

    async def feed(self, chunk: bytes) -> None:
        for check in self._checks:
            await check.feed(chunk)

    async def finish(self) -> None:
        for check in self._checks:
            await check.finish()

    def close(self) -> None:
        for check in self._checks:
            check.close()
