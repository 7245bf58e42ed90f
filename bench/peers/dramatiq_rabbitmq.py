"""Dramatiq on RabbitMQ: default middleware, one process; the broker confirms that it stored each message."""

from __future__ import annotations

from typing import Any

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker

from bench.peers.contract import Engine, Options
from bench.peers.dramatiq import Dramatiq
from bench.peers.tally import Tally


def open_engine(options: Options) -> Engine:
    return DramatiqRabbitmq(options)


class DramatiqRabbitmq(Dramatiq):
    def __init__(self, options: Options) -> None:
        self.options = options
        self.broker: Any = RabbitmqBroker(url=options["rabbitmq"], confirm_delivery=True)
        dramatiq.set_broker(self.broker)
        self.tally = Tally()
        self.actor = dramatiq.actor(self.handle, actor_name="noop", queue_name="bench")

    def reset(self) -> None:
        self.broker.declare_queue("bench", ensure=True)
        self.broker.flush("bench")

    def unfinished(self) -> int:
        """Of what nobody has received yet; the server does not tell what is being worked on."""
        return int(self.broker.get_queue_message_counts("bench")[0])
