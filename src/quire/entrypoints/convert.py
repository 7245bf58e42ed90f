"""Wires the worker's side of conversion: where files lie, the gateway, the policies that settings move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from quire.convert import (
    KIND,
    AnswerChecks,
    ConvertParts,
    FileSweeper,
    MappingList,
    convert_handler,
    log_step,
)
from quire.convert.domain.gateway_errors import GW_5XX, GW_TIMEOUT
from quire.convert.domain.voucher import Voucher
from quire.convert.infrastructure.filesystem.input_store import DirectoryInputStore
from quire.convert.infrastructure.filesystem.result_shelf import DirectoryResultShelf
from quire.convert.infrastructure.http.gateway_client import HttpGatewayClient
from quire.convert.infrastructure.libxml2.answer_check import PipedAnswerCheck
from quire.convert.infrastructure.places.input_store import InputPlaces
from quire.convert.infrastructure.storage.input_store import StoredInputStore
from quire.convert.infrastructure.voucher.answer_check import VouchedAnswerCheck
from quire.convert.ports.v1.answer_check import AnswerCheck
from quire.convert.ports.v1.input_store import InputStore
from quire.jobs import Handler, Policies
from quire.jobs.domain.queue import QueuePolicies
from quire.jobs.domain.retry import RetryPolicies, RetryRule
from quire.kernel import SystemClock
from quire.runtime.settings import Settings
from quire.runtime.storage import StorageBackend, open_storage

if TYPE_CHECKING:
    from quire.entrypoints.engine import Engine

CONVERT_QUEUE = "convert_xml"
# Between the end of a call and that of its attempt: reading the file, keeping the result, asking after the gateway.
ATTEMPT_MARGIN_SECONDS = 30.0


def mapping_list(settings: Settings) -> MappingList:
    return MappingList(name.strip() for name in settings.convert_mappings.split(",") if name.strip())


def input_store(settings: Settings, storage: StorageBackend) -> InputStore:
    """Files that were accepted before there was an UPLOADS_DIR are still in the storage."""
    stored = StoredInputStore(storage)
    if settings.uploads_dir is None:
        return stored
    return InputPlaces(DirectoryInputStore(settings.uploads_dir), stored)


def result_shelf(settings: Settings) -> DirectoryResultShelf | None:
    return DirectoryResultShelf(settings.results_dir) if settings.results_dir is not None else None


def answer_check(settings: Settings, voucher: Voucher | None) -> AnswerCheck:
    """A gateway's word counts where somebody has said that the gateway is one of ours; its digest counts anyway."""
    max_bytes = settings.convert_max_result_bytes
    if voucher is None:
        return PipedAnswerCheck(max_bytes)
    digest = VouchedAnswerCheck(max_bytes, voucher)
    is_enough = settings.gateway_trusted and voucher.schema
    return digest if is_enough else AnswerChecks(digest, PipedAnswerCheck(max_bytes))


def can_convert(settings: Settings) -> bool:
    return bool(settings.gateway_url)


def convertible_queues(settings: Settings, names: Iterable[str]) -> list[str]:
    """A worker without a gateway must not take what it cannot do."""
    return [name for name in names if name != CONVERT_QUEUE or can_convert(settings)]


@asynccontextmanager
async def open_gateway_client(settings: Settings) -> AsyncIterator[HttpGatewayClient]:
    gateway = HttpGatewayClient(
        settings.gateway_url,
        timeout_seconds=settings.gateway_timeout_ms / 1000,
        connections_max=settings.worker_concurrency,
        token=settings.gateway_token.get_secret_value(),
    )
    try:
        yield gateway
    finally:
        await gateway.close()


@asynccontextmanager
async def convert_handlers(settings: Settings) -> AsyncIterator[list[Handler]]:
    """The working handler; none without a gateway, and others do the work."""
    if not can_convert(settings):
        yield []
        return
    async with open_gateway_client(settings) as gateway, open_storage(settings) as storage:
        parts = ConvertParts(
            inputs=input_store(settings, storage),
            gateway=gateway,
            mappings=mapping_list(settings),
            new_check=partial(answer_check, settings),
            shelf=result_shelf(settings),
        )
        await parts.inputs.ensure_ready()
        if parts.shelf is not None:
            await parts.shelf.ensure_ready()
        yield [convert_handler(parts)]
        log_step("shutdown", job_id=None, status=None, attempt=None)


@asynccontextmanager
async def files_swept(engine: Engine, settings: Settings) -> AsyncIterator[None]:
    """While inside, files that no job needs any more go away."""
    sweeper = FileSweeper(
        engine.board,
        engine.storage,
        input_store(settings, engine.storage),
        result_shelf(settings),
        SystemClock(),
        settings.sweep_seconds,
    )
    task = asyncio.create_task(sweeper.run(), name="file_sweeper")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def convert_policies(policies: Policies, settings: Settings) -> Policies:
    """RETRY_MAX_ATTEMPTS and GATEWAY_TIMEOUT_MS stand over what the files say of conversions."""
    return replace(
        policies, retries=_with_attempts(policies, settings), queues=_with_time(policies, settings)
    )


def _with_attempts(policies: Policies, settings: Settings) -> RetryPolicies:
    most = settings.retry_max_attempts
    rules = tuple(
        (pattern, tuple(_limited(rule, most) for rule in rules) if pattern == KIND else rules)
        for pattern, rules in policies.retries.rules
    )
    return replace(policies.retries, rules=rules)


def _limited(rule: RetryRule, most: int) -> RetryRule:
    """Faults that deserve fewer attempts than a failing gateway keep their own number."""
    by_gateway = bool(rule.codes & {GW_5XX, GW_TIMEOUT})
    return replace(rule, attempts=most if by_gateway else min(rule.attempts, most))


def _with_time(policies: Policies, settings: Settings) -> QueuePolicies:
    """An attempt outlasts the one call that it makes."""
    queue = policies.queues.queues.get(CONVERT_QUEUE)
    soft = settings.gateway_timeout_ms / 1000 + ATTEMPT_MARGIN_SECONDS
    if queue is None or queue.soft_limit_seconds >= soft:
        return policies.queues
    longer = replace(queue, soft_limit_seconds=soft, hard_limit_seconds=soft + ATTEMPT_MARGIN_SECONDS)
    return replace(policies.queues, queues={**policies.queues.queues, CONVERT_QUEUE: longer})
