"""A message as Dramatiq carries it: one actor, one argument, the trace among its options."""

from __future__ import annotations

from uuid import UUID

import dramatiq
from dramatiq import MessageProxy

from quire.jobs.ports.v1.messenger import Message

ACTOR = "quire.deliver"
QUEUE_PREFIX = "quire."


def queue_at_broker(queue: str) -> str:
    """Other programs may use the same broker."""
    return QUEUE_PREFIX + queue


def to_dramatiq(message: Message) -> dramatiq.Message[None]:
    options = {} if message.traceparent is None else {"traceparent": message.traceparent}
    return dramatiq.Message(
        queue_name=queue_at_broker(message.queue),
        actor_name=ACTOR,
        args=(str(message.job_id),),
        kwargs={},
        options=options,
    )


def from_dramatiq(message: dramatiq.Message[None] | MessageProxy) -> Message:
    """ValueError for what is no message of ours."""
    try:
        (job_id,) = message.args
        queue = str(message.queue_name).removeprefix(QUEUE_PREFIX)
        return Message(UUID(job_id), queue, message.options.get("traceparent"))
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a message of ours: {type(error).__name__}") from None
