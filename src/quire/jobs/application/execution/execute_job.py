"""One attempt, as a pipeline of named steps. Whatever the handler does, exactly one outcome comes out."""

from __future__ import annotations

import asyncio
import json
import re
import time

import structlog

from quire.jobs.application.execution.handler_registry import HandlerRegistry
from quire.jobs.application.execution.running_job import RunningJob, StopReason
from quire.jobs.application.intake.storable_json import flaw_of
from quire.jobs.domain.errors import (
    HANDLER_CRASHED,
    OUTCOME_UNSTORABLE,
    RESULT_INVALID,
    JobDeferredError,
    JobError,
    LeaseLostError,
    PayloadUndecodableError,
    UnknownKindError,
)
from quire.jobs.domain.failure_advice import NO_ADVICE, FailureAdvice
from quire.jobs.domain.outcome import Cancelled, Failed, HandedBack, Outcome, Succeeded
from quire.jobs.ports.v1.handler import Handler, JobContext
from quire.kernel import QuireError
from quire.runtime.telemetry import start_span

RESULT_MAX_BYTES = 65_536
CODE_MAX = 100
CODE = re.compile(rf"[!-~]{{1,{CODE_MAX}}}")
_parse = json.JSONDecoder().raw_decode

log = structlog.get_logger(__name__)


async def execute_job(running: RunningJob, handlers: HandlerRegistry, context: JobContext) -> Outcome | None:
    """None: the lease is gone, and with it the right to say anything about this job."""
    try:
        with start_span("job.run", running.lease.traceparent):
            handler = _resolve(handlers, running)
            payload = _decode(handler, running)
            value = await handler.handle(payload, context)
            return _succeeded(running, value)
    except asyncio.CancelledError:
        return outcome_of_stop(running)
    except LeaseLostError:
        running.stop_reason = StopReason.LEASE_LOST
        return None
    except JobDeferredError as deferred:
        return HandedBack(
            running.lease,
            _duration_ms(running),
            _words(deferred.detail),
            deferred.delay_seconds,
            deferred.deferral,
        )
    except QuireError as error:
        advice = error.advice if isinstance(error, JobError) else NO_ADVICE
        return _after_error(running, error.code, error.detail, advice)
    except (Exception, SystemExit) as error:
        # A library that calls exit() means its own program, not this worker.
        log.exception("handler_crashed", job_id=str(running.lease.job_id), kind=running.lease.kind)
        return _after_error(running, HANDLER_CRASHED, f"{type(error).__name__}: {_words(error)}")


def _resolve(handlers: HandlerRegistry, running: RunningJob) -> Handler:
    handler = handlers.get(running.lease.kind)
    if handler is None:
        raise UnknownKindError(f"no handler for kind {running.lease.kind!r} in this worker")
    return handler


def _decode(handler: Handler, running: RunningJob) -> object:
    try:
        # Without the search for white space around it, which the database never writes.
        return handler.decode(_parse(running.lease.payload_text)[0])
    except Exception as error:
        raise PayloadUndecodableError(f"{type(error).__name__}: {_words(error)}") from None


def _succeeded(running: RunningJob, value: object) -> Succeeded:
    text = None
    if value is not None:
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            # Half of a surrogate pair is JSON to Python, but nothing that can be written down.
            encoded = text.encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise JobError(f"the handler returned no JSON: {error}", code=RESULT_INVALID) from None
        if len(encoded) > RESULT_MAX_BYTES:
            raise JobError(f"a result holds at most {RESULT_MAX_BYTES} bytes", code=RESULT_INVALID)
        if (flaw := flaw_of(value, encoded)) is not None:
            raise JobError(f"the result cannot be stored: {flaw}", code=RESULT_INVALID)
    return Succeeded(running.lease, _duration_ms(running), running.kind.ttl_seconds, text, running.artifact)


def _failed(running: RunningJob, code: str, message: str, advice: FailureAdvice = NO_ADVICE) -> Failed:
    if not isinstance(code, str) or CODE.fullmatch(code) is None:
        # It becomes a label of metrics and a word in policies, too.
        code, message = (
            OUTCOME_UNSTORABLE,
            f"the handler's error code {_words(code)[:CODE_MAX]!a}: {_words(message)}",
        )
    return Failed(running.lease, _duration_ms(running), code, _words(message), advice)


def _words(value: object) -> str:
    """A handler's exception may hold anything, and fail even at saying what it is."""
    try:
        return str(value)
    except Exception:
        return f"a {type(value).__name__} without words"


def _after_error(
    running: RunningJob, code: str, message: str, advice: FailureAdvice = NO_ADVICE
) -> Outcome | None:
    """An attempt that was told to stop may fail on its way out; why it was stopped is what counts."""
    if running.stop_reason is not None:
        return outcome_of_stop(running)
    return _failed(running, code, message, advice)


def outcome_of_stop(running: RunningJob) -> Outcome | None:
    """What a stopped attempt means depends on who stopped it."""
    match running.stop_reason:
        case StopReason.TIMEOUT:
            return _failed(running, running.kind.timeout_code, _out_of_time(running))
        case StopReason.CANCEL:
            return Cancelled(running.lease, _duration_ms(running))
        case StopReason.LEASE_LOST:
            return None
        case StopReason.SHUTDOWN:
            return HandedBack(running.lease, _duration_ms(running), "shutdown")
        case None:
            # Nobody stopped it: a hand-back would run it again for ever.
            return _failed(running, HANDLER_CRASHED, "the handler cancelled itself")


def _out_of_time(running: RunningJob) -> str:
    hard = running.queue.hard_limit_seconds
    if time.monotonic() >= running.hard_at:
        return f"not done within {hard:g} s"
    return f"not done after {running.queue.soft_limit_seconds:g} s, when it was asked to stop; its limit is {hard:g} s"


def _duration_ms(running: RunningJob) -> int:
    return int((time.monotonic() - running.lease.claimed_at) * 1000)
