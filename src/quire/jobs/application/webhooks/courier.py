"""Brings webhooks to their receivers, at least once: takes what is due, signs it, sends it, writes down what came
back. A courier that dies leaves its leases behind; they run out and another one tries again under the same id."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog

from quire.jobs.application.webhooks import webhook_metrics as metrics
from quire.jobs.domain.webhooks.webhook import Reply, Settlement, WebhookPolicy, settle
from quire.jobs.domain.webhooks.webhook_errors import SecretUnreadableError
from quire.jobs.domain.webhooks.webhook_signature import signed_headers
from quire.jobs.ports.v1.broker import ENDED, Broker
from quire.jobs.ports.v1.webhooks.secret_box import SecretBox
from quire.jobs.ports.v1.webhooks.webhook_outbox import DueDelivery, WebhookOutbox
from quire.jobs.ports.v1.webhooks.webhook_sender import WebhookSender
from quire.kernel import Clock, QuireError, SystemClock

SETTLE_BATCH = 200
# Jobs end by the thousand: one look for many of them. After an empty look the next one may wait longer.
GAP_SECONDS = 0.005
EMPTY_GAP_SECONDS = 0.05
# What is on its way when the process stops gets this long to be answered.
PUT_DOWN_SECONDS = 2.0
PRUNE_EVERY_SECONDS = 3600.0
PRUNE_PAGE = 5000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CourierParts:
    outbox: WebhookOutbox
    sender: WebhookSender
    box: SecretBox
    broker: Broker


class Courier:
    def __init__(
        self,
        courier_id: UUID,
        parts: CourierParts,
        policy: WebhookPolicy,
        *,
        poll_seconds: float,
        clock: Clock | None = None,
    ) -> None:
        self._id = courier_id
        self._parts = parts
        self._policy = policy
        self._poll_seconds = poll_seconds
        self._clock = clock or SystemClock()
        self._held: dict[asyncio.Task[None], DueDelivery] = {}
        self._settled: list[Settlement] = []
        self._wake = asyncio.Event()
        self._answered = asyncio.Event()
        # Before the broker starts to listen: it asks only for topics that somebody wants.
        parts.broker.subscribe(ENDED, self._wake.set)

    async def run(self) -> None:
        """Until cancelled; then what is on its way gets a moment, and the rest is handed back."""
        loops = [asyncio.create_task(self._write_settlements()), asyncio.create_task(self._prune_forever())]
        try:
            while True:
                self._wake.clear()
                claimed = await self._claim()
                for delivery in claimed:
                    self._start(delivery)
                await self._rest(bool(claimed))
        finally:
            await asyncio.shield(self._put_down(loops))

    async def _claim(self) -> Sequence[DueDelivery]:
        room = self._policy.in_flight_max - len(self._held)
        if room <= 0:
            return ()
        shares = Counter(delivery.subscription_id for delivery in self._held.values())
        try:
            return await self._parts.outbox.claim(self._id, room, shares, self._policy)
        except Exception as error:
            # Whatever ails the database here, the worker beside it must go on with its jobs.
            log.warning("webhook_claim_failed", error=type(error).__name__)
            return ()

    async def _rest(self, found: bool) -> None:
        """Until something ended, a hand is free, or the poll is due for retries and others' work."""
        # Not wait_for: before Python 3.12 it loses a cancellation that comes together with the event.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._poll_seconds * (1 + random.random())):
                await self._wake.wait()
        await asyncio.sleep(GAP_SECONDS if found or self._held else EMPTY_GAP_SECONDS)

    def _start(self, delivery: DueDelivery) -> None:
        task = asyncio.create_task(self._deliver(delivery))
        self._held[task] = delivery
        task.add_done_callback(self._let_go)
        metrics.WEBHOOKS_IN_FLIGHT.set(len(self._held))

    def _let_go(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._held.pop(task)
            if (error := task.exception()) is not None:
                # Its lease runs out and it is tried again.
                log.error("webhook_attempt_crashed", exc_info=error)
        metrics.WEBHOOKS_IN_FLIGHT.set(len(self._held))
        self._wake.set()

    async def _deliver(self, delivery: DueDelivery) -> None:
        reply = await self._send(delivery)
        verdict = settle(
            delivery.id,
            delivery.fence,
            delivery.event_type,
            delivery.attempt,
            reply,
            self._policy,
            random.random,
        )
        metrics.WEBHOOK_ATTEMPTS.labels(str(verdict.state)).inc()
        metrics.WEBHOOK_SECONDS.observe(reply.elapsed_ms / 1000)
        self._settled.append(verdict)
        self._answered.set()

    async def _send(self, delivery: DueDelivery) -> Reply:
        body = json.dumps(delivery.payload, ensure_ascii=False, separators=(",", ":")).encode()
        owner = str(delivery.subscription_id)
        try:
            keys = [self._parts.box.open(sealed, owner) for sealed in delivery.sealed_secrets]
        except SecretUnreadableError as error:
            return Reply(None, f"{error.code}: {error.detail}", 0)
        now = int(self._clock.now().timestamp())
        headers = signed_headers(str(delivery.id), now, body, keys)
        return await self._parts.sender.post(delivery.url, headers, body)

    async def _write_settlements(self) -> None:
        """Answers that come while one write is under way go together in the next."""
        while True:
            await self._answered.wait()
            self._answered.clear()
            while self._settled:
                await self._write_page()

    async def _write_page(self) -> None:
        page = self._settled[:SETTLE_BATCH]
        try:
            disabled = await self._parts.outbox.settle(self._id, page, self._policy)
        except Exception as error:
            # A lost server, a deadlock: all of it passes, and the fence refuses what came too late.
            log.warning("webhook_settling_delayed", error=type(error).__name__, waiting=len(self._settled))
            await asyncio.sleep(0.25 + random.random() / 2)
            return
        del self._settled[: len(page)]
        for subscription_id, reason in disabled.items():
            metrics.WEBHOOKS_DISABLED.labels(reason).inc()
            log.warning("webhook_disabled", subscription_id=str(subscription_id), reason=reason)

    async def _prune_forever(self) -> None:
        while True:
            await asyncio.sleep(PRUNE_EVERY_SECONDS * (0.5 + random.random()))
            try:
                while await self._parts.outbox.prune(self._policy.log_days, PRUNE_PAGE) >= PRUNE_PAGE:
                    pass
            except Exception as error:
                log.warning("webhook_prune_failed", error=type(error).__name__)

    async def _put_down(self, loops: Sequence[asyncio.Task[None]]) -> None:
        if self._held:
            await asyncio.wait(self._held, timeout=PUT_DOWN_SECONDS)
        unanswered = {task: delivery for task, delivery in self._held.items() if not task.done()}
        for task in (*unanswered, *loops):
            task.cancel()
        await asyncio.gather(*unanswered, *loops, return_exceptions=True)
        with contextlib.suppress(QuireError):
            if self._settled:
                await self._write_page()
            if unanswered:
                await self._parts.outbox.hand_back(self._id, list(unanswered.values()))
