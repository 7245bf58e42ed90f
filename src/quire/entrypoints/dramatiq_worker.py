"""Workers by Dramatiq's own command line: `dramatiq quire.entrypoints.dramatiq_worker`. Settings come from the same
environment as those of `quire worker`; `--queues quire.NAME` chooses queues, `WORKER_CONCURRENCY` how much runs at once
in each process."""

from __future__ import annotations

import dramatiq
import structlog
from dramatiq.brokers.stub import StubBroker

from quire.entrypoints.brokers import broker_scheme, broker_url
from quire.entrypoints.engine import read_policies
from quire.entrypoints.worker_thread import WorkerThread
from quire.jobs.infrastructure.dramatiq.connection import open_dramatiq
from quire.jobs.infrastructure.dramatiq.message_form import (
    ACTOR,
    QUEUE_PREFIX,
    from_dramatiq,
    queue_at_broker,
)
from quire.jobs.infrastructure.dramatiq.metrics import DramatiqMetrics
from quire.runtime.settings import Settings, load_settings

log = structlog.get_logger(__name__)

DRAMATIQ_SCHEMES = ("redis", "rediss", "amqp", "amqps")


class WorkerBeside(dramatiq.Middleware):
    """Starts a Quire worker with each of Dramatiq's and stops it first, so that its jobs can end."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.worker: WorkerThread | None = None

    def before_worker_boot(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        chosen = [name.removeprefix(QUEUE_PREFIX) for name in worker.consumer_whitelist or ()]
        self.worker = WorkerThread(self._settings, chosen)
        self.worker.start()

    def before_worker_shutdown(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        if self.worker is not None:
            self.worker.stop()
            self.worker.join()


class Refusal(dramatiq.Middleware):
    """Ends Dramatiq's process before it works, not whoever merely imports this module."""

    def after_process_boot(self, broker: dramatiq.Broker) -> None:
        raise SystemExit("QUIRE_BROKER_URL: Dramatiq works with redis:// and amqp://")


def _open(settings: Settings) -> tuple[dramatiq.Broker, WorkerBeside]:
    beside = WorkerBeside(settings)
    if broker_scheme(settings) not in DRAMATIQ_SCHEMES:
        refusing = StubBroker(middleware=[Refusal()])
        refusing.declare_queue(QUEUE_PREFIX)
        return refusing, beside
    # Two of Dramatiq's own are left out on purpose: retries and time limits are the job's, not the message's.
    broker = open_dramatiq(
        broker_url(settings), [DramatiqMetrics(), beside, dramatiq.middleware.CurrentMessage()]
    )
    patterns = [pattern.strip() for pattern in settings.worker_queues.split(",")]
    for queue in read_policies(settings).queues.matching(patterns):
        broker.declare_queue(queue_at_broker(queue.name))
    return broker, beside


_settings = load_settings()
broker, _beside = _open(_settings)
dramatiq.set_broker(broker)


@dramatiq.actor(actor_name=ACTOR, queue_name=min(broker.get_declared_queues()), broker=broker)
def deliver(*_arguments: object, **_named: object) -> None:
    """Returns, and so acknowledges, as soon as the worker beside has the job's id. Whatever else a message holds is
    not used: of Dramatiq's middleware, none that follows callbacks or pipelines is loaded."""
    message = dramatiq.middleware.CurrentMessage.get_current_message()
    if _beside.worker is None or message is None:
        return
    try:
        _beside.worker.inbox.offer(from_dramatiq(message))
    except ValueError:
        log.warning("message_not_ours", queue=message.queue_name)
