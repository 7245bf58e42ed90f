"""Small kinds that prove an installation: `quire demo`, the README's tour, the benches and the fault tests use them.
Callers may create them only where QUIRE_DIAGNOSTIC_KINDS says so; workers always finish those that were accepted."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping

from quire.jobs.domain.errors import JobError, JobStoppedError
from quire.jobs.domain.failure_advice import FailureAdvice
from quire.jobs.ports.v1.handler import Handler, JobContext

_NUMBER = {"type": "number", "minimum": 0, "maximum": 3600}
_OBJECT: dict[str, object] = {"type": "object"}


def diagnostic_handlers(*, public: bool = False) -> list[Handler]:
    return [
        Handler("jobs.noop", _noop, public=public),
        Handler("jobs.echo", _echo, public=public),
        Handler("jobs.sleep", _sleep, public=public, schema=_SLEEP_SCHEMA),
        Handler("jobs.store", _store, public=public, schema=_STORE_SCHEMA),
        Handler("jobs.fail", _fail, public=public, schema=_FAIL_SCHEMA),
    ]


_SLEEP_SCHEMA: dict[str, object] = {
    **_OBJECT,
    "properties": {"seconds": _NUMBER},
    "required": ["seconds"],
}
_STORE_SCHEMA: dict[str, object] = {
    **_OBJECT,
    "properties": {
        "text": {"type": "string", "maxLength": 200_000},
        "seconds": _NUMBER,
        "repeat": {"type": "integer", "minimum": 1, "maximum": 1000},
    },
    "required": ["text"],
}
_FAIL_SCHEMA: dict[str, object] = {
    **_OBJECT,
    "properties": {
        "code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,60}$"},
        "message": {"type": "string", "maxLength": 500},
        "until_attempt": {"type": "integer", "minimum": 1, "maximum": 100},
    },
    "required": ["code"],
}


async def _noop(payload: object, context: JobContext) -> None:
    return None


async def _echo(payload: object, context: JobContext) -> object:
    return payload


async def _sleep(payload: object, context: JobContext) -> None:
    """Ends early when asked to stop, as a well-behaved handler does."""
    assert isinstance(payload, Mapping)
    seconds = float(payload["seconds"])
    try:
        async with asyncio.timeout(seconds):
            await context.stop_requested.wait()
    except TimeoutError:
        return
    raise JobStoppedError


async def _store(payload: object, context: JobContext) -> object:
    """Writes its text as an artifact and returns its hash, so that an auditor can compare the two."""
    assert isinstance(payload, Mapping)
    await asyncio.sleep(float(payload.get("seconds", 0)))
    data = str(payload["text"]).encode() * int(payload.get("repeat", 1))
    artifact = await context.put_artifact(
        data, filename="stored.txt", content_type="text/plain; charset=utf-8"
    )
    return {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": artifact.size_bytes}


async def _fail(payload: object, context: JobContext) -> object:
    assert isinstance(payload, Mapping)
    if context.lease.attempt >= int(payload.get("until_attempt", 1000)):
        return {"succeeded_at_attempt": context.lease.attempt}
    message = str(payload.get("message", "asked to fail"))
    raise JobError(message, code=str(payload["code"]), advice=FailureAdvice(callers_code=True))
