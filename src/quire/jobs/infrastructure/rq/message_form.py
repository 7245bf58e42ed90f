"""A message as RQ carries it: a call of one function with one argument, in JSON, the trace in its meta data."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import rq
from rq.job import Job
from rq.queue import EnqueueData
from rq.serializers import JSONSerializer

from quire.jobs.ports.v1.messenger import Message

# What each message names. It lies in Redis, so it never moves; under our own worker class nothing calls it.
FUNCTION = "quire.entrypoints.rq_worker.deliver"
QUEUE_PREFIX = "quire."
# RQ's default is pickle: whoever may write to Redis could run code in a worker.
SERIALIZER: Any = JSONSerializer
KEEP_NOTHING_SECONDS = 0
# A message that failed has nothing to tell later: its job is in the database.
KEEP_FAILED_SECONDS = 3600
NO_LIMIT = -1
# A worker that dies with messages it had popped leaves their bodies behind; a job that waits longer gets another one.
MESSAGE_SECONDS = 86400


def queue_at_broker(queue: str) -> str:
    return QUEUE_PREFIX + queue


def to_rq(message: Message) -> EnqueueData:
    return rq.Queue.prepare_data(
        FUNCTION,
        args=(str(message.job_id),),
        meta={} if message.traceparent is None else {"traceparent": message.traceparent},
        timeout=NO_LIMIT,
        ttl=MESSAGE_SECONDS,
        result_ttl=KEEP_NOTHING_SECONDS,
        failure_ttl=KEEP_FAILED_SECONDS,
        description="",
    )


def from_rq(job: Job) -> Message:
    """ValueError for what is no message of ours."""
    try:
        if job.func_name != FUNCTION:
            raise ValueError("another function")
        (job_id,) = job.args
        return Message(UUID(job_id), job.origin.removeprefix(QUEUE_PREFIX), job.meta.get("traceparent"))
    except Exception as error:
        raise ValueError(f"not a message of ours: {type(error).__name__}") from None
