"""Accept work: check it, store it once, tell who asked whether it is new, wake the workers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from uuid import UUID

from quire.jobs.application.execution.handler_registry import HandlerRegistry
from quire.jobs.application.intake.payload_check import check_payload
from quire.jobs.application.transitions import is_watched, note_transition
from quire.jobs.domain.errors import (
    DependencyHeldError,
    DependencyUnusableError,
    NoLiveWorkerError,
    UnknownKindError,
)
from quire.jobs.domain.job import Receipt, Submission
from quire.jobs.domain.job_key import job_key_of
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.queue import SIZE_CLASSES
from quire.jobs.domain.state import JobState
from quire.jobs.domain.transition import Transition
from quire.jobs.ports.v1.admission import Admission
from quire.jobs.ports.v1.artifact_store import ArtifactStore
from quire.jobs.ports.v1.broker import WORK, Broker
from quire.jobs.ports.v1.submission_store import KeyHolder, SubmissionStore, Survey
from quire.kernel import ConflictError, InvalidInputError, new_uuid7, there_is
from quire.runtime.telemetry import current_traceparent

BATCH_MAX = 10_000
DEPENDENCIES_MAX = 1_000
# Each round ends in an answer unless the holder of a key ended in between; that many times in a row is a fault.
ROUNDS_MAX = 20


@dataclass(frozen=True, slots=True)
class JobRequest:
    kind: str
    payload: Mapping[str, object]
    queue: str | None = None
    size_class: str | None = None
    run_at: datetime | None = None
    depends_on: tuple[UUID, ...] = ()
    unique: bool = True
    parameters: Mapping[str, object] = field(default_factory=dict)
    document_id: str | None = None
    external_ref: str | None = None
    job_id: UUID | None = None
    """Given by callers that let jobs of one batch wait for each other."""


@dataclass(frozen=True, slots=True)
class Intake:
    """All that accepting work needs; wired once a process."""

    store: SubmissionStore
    artifacts: ArtifactStore
    broker: Broker
    admission: Admission
    handlers: HandlerRegistry
    policies: Policies


@dataclass(slots=True)
class Announcement:
    """What a caller who enqueues in a transaction of its own has to send once that has committed."""

    created: list[Submission] = field(default_factory=list)

    def send(self, intake: Intake) -> None:
        if self.created:
            intake.broker.announce(WORK, self.created)
        for item in self.created:
            if is_watched(item.kind):
                note_transition(Transition(item.kind, _first_state(item), job_id=item.id, attempt=0))


async def enqueue_jobs(
    intake: Intake,
    requests: Sequence[JobRequest],
    *,
    tenant_id: str,
    created_by: str,
    public_only: bool = False,
    often_repeated: bool = False,
    on_trust: bool = False,
    announcement: Announcement | None = None,
) -> list[Receipt]:
    """One receipt a request, in order. All are accepted or none: the first bad one raises. Work that is
    `often_repeated` is looked for among what is done before anything else, and found there even while nobody works.
    `on_trust` is for who fetches the bytes of what is done at once, and asks again without it if they are gone: then
    the storage is not looked at here. `announcement` is for an intake whose store writes in the caller's transaction:
    it gathers what was created, and the caller sends it after the commit."""
    if not 1 <= len(requests) <= BATCH_MAX:
        raise InvalidInputError(f"a batch holds 1 to {BATCH_MAX} jobs", code="BATCH_SIZE_INVALID")
    traceparent = current_traceparent()
    submissions = [_submission(intake, r, tenant_id, created_by, traceparent, public_only) for r in requests]
    survey = await _survey(intake, submissions, with_keys=often_repeated)
    if often_repeated:
        done = await _answer_done(intake, submissions, survey.holders, on_trust=on_trust)
        if done is not None:
            return done
    await _admit(intake, submissions, tenant_id, survey.served)
    receipts = await _store(intake, submissions)
    _announce(intake, submissions, receipts, announcement)
    return [receipts[submission.id] for submission in submissions]


def _announce(
    intake: Intake,
    submissions: Sequence[Submission],
    receipts: Mapping[UUID, Receipt],
    later: Announcement | None,
) -> None:
    announcement = Announcement() if later is None else later
    announcement.created += [item for item in submissions if receipts[item.id].job_id == item.id]
    if later is None:
        announcement.send(intake)


def _first_state(item: Submission) -> JobState:
    """Whether one that waits for others waits still matters to nobody who is told."""
    return JobState.WAITING if item.depends_on else JobState.QUEUED


def _submission(
    intake: Intake,
    request: JobRequest,
    tenant_id: str,
    created_by: str,
    traceparent: str | None,
    public_only: bool,
) -> Submission:
    handler = intake.handlers.get(request.kind)
    if handler is None or (public_only and not handler.public):
        kinds = [known.kind for known in intake.handlers if known.public or not public_only]
        raise UnknownKindError(f"no kind named {request.kind[:100]!r}; {there_is(kinds, request.kind)}")
    policy = intake.policies.queues.kind(request.kind)
    queue = intake.policies.queues.queue_for(policy, request.queue)
    if public_only and request.size_class is not None:
        intake.policies.queues.check_size_class(policy, queue, request.size_class)
    payload = check_payload(request.payload, handler, policy.max_payload_bytes)
    if len(request.depends_on) > DEPENDENCIES_MAX:
        raise InvalidInputError(
            f"a job waits for at most {DEPENDENCIES_MAX} others", code="TOO_MANY_DEPENDENCIES"
        )
    size_class = request.size_class or queue.size_class
    return Submission(
        id=request.job_id or new_uuid7(),
        kind=request.kind,
        queue=queue.name,
        priority=SIZE_CLASSES.index(size_class),
        tenant_id=tenant_id,
        created_by=created_by,
        payload_text=payload.decode(),
        job_key=job_key_of(tenant_id, request.kind, payload, request.parameters) if request.unique else None,
        run_at=request.run_at,
        depends_on=request.depends_on,
        traceparent=traceparent,
        tenant_lane=queue.tenant_lane,
        document_id=request.document_id,
        external_ref=request.external_ref,
        ttl_seconds=policy.ttl_seconds,
    )


async def _survey(intake: Intake, submissions: Sequence[Submission], *, with_keys: bool) -> Survey:
    kinds = {item.kind for item in submissions}
    needy = {kind for kind in kinds if intake.policies.queues.kind(kind).require_worker}
    queues = {item.queue for item in submissions if item.kind in needy} if needy else set()
    keys = _keys(submissions) if with_keys else []
    return await intake.store.survey(keys, list(queues)) if keys or queues else Survey({}, frozenset())


def _keys(submissions: Sequence[Submission]) -> list[bytes]:
    return [item.job_key for item in submissions if item.job_key is not None]


async def _admit(
    intake: Intake, submissions: Sequence[Submission], tenant_id: str, served: Collection[str]
) -> None:
    lanes: dict[tuple[str, str], int] = {}
    for item in submissions:
        lanes[item.kind, item.queue] = lanes.get((item.kind, item.queue), 0) + 1
    for (kind, queue), count in lanes.items():
        policy = intake.policies.queues.kind(kind)
        if policy.require_worker and queue not in served:
            raise NoLiveWorkerError(f"no live worker serves queue {queue!r}", code=policy.unavailable_code)
        await intake.admission.check(kind, queue, tenant_id, count)
    if intake.broker.required:
        await intake.broker.ping()


async def _store(intake: Intake, submissions: Sequence[Submission]) -> dict[UUID, Receipt]:
    """Insert what is free, answer the rest with the holders of their keys, and look again where one ended."""
    receipts: dict[UUID, Receipt] = {}
    rest = _redirect(submissions, _twins(submissions))
    _refuse_circles(rest)
    for _ in range(ROUNDS_MAX):
        created = await _insert(intake, rest)
        for item in rest:
            if item.id in created:
                receipts[item.id] = Receipt(item.id, "created", _first_state(item))
        rest = [item for item in rest if item.id not in created]
        if rest:
            existing = await _answer_existing(intake, rest)
            receipts |= existing
            holders = {asked: receipt.job_id for asked, receipt in existing.items()}
            rest = _redirect([item for item in rest if item.id not in receipts], holders)
        if not rest:
            return receipts
    raise ConflictError(
        "the same work keeps ending while it is asked for again", code="KEY_CONTENDED", retryable=True
    )


def _twins(submissions: Sequence[Submission]) -> dict[UUID, UUID]:
    """Later ones of equal key → the first one: only that will be stored."""
    first: dict[bytes, UUID] = {}
    keyed = [(item.id, item.job_key) for item in submissions if item.job_key is not None]
    return {own: to for own, key in keyed if (to := first.setdefault(key, own)) != own}


def _redirect(submissions: Sequence[Submission], moved: Mapping[UUID, UUID]) -> list[Submission]:
    """Who waits for a job of the batch that another job stands for waits for that one."""
    if not moved:
        return list(submissions)
    return [
        replace(item, depends_on=tuple(moved.get(dep, dep) for dep in item.depends_on))
        if item.depends_on
        else item
        for item in submissions
    ]


def _refuse_circles(submissions: Sequence[Submission]) -> None:
    """Nothing could ever release them."""
    waits = {item.id: item.depends_on for item in submissions if item.depends_on}
    if waits.keys() & {dep for depends_on in waits.values() for dep in depends_on}:
        try:
            TopologicalSorter(waits).prepare()
        except CycleError:
            raise DependencyUnusableError("jobs of this batch wait for each other in a circle") from None


async def _insert(intake: Intake, submissions: Sequence[Submission]) -> frozenset[UUID]:
    """Of equal keys the first only. DependencyHeldError: nothing stored, for the next round knows the holder."""
    twins = _twins(submissions)
    try:
        return await _insert_distinct(intake, [item for item in submissions if item.id not in twins])
    except DependencyHeldError:
        return frozenset()


async def _insert_distinct(intake: Intake, submissions: Sequence[Submission]) -> frozenset[UUID]:
    """Queues with a quota are counted one by one; the rest goes in one statement."""
    quotas = {item.queue: intake.policies.queues.queue(item.queue).tenant_queued_max for item in submissions}
    limited = [queue for queue, quota in quotas.items() if quota is not None]
    if not limited:
        return await intake.store.insert(submissions)
    if len(quotas) > 1:
        raise InvalidInputError(
            f"queue {limited[0]!r} has a quota: send its jobs in a batch of their own",
            code="BATCH_MIXES_QUOTAS",
        )
    return await intake.store.insert(submissions, queued_max=quotas[limited[0]])


async def _answer_done(
    intake: Intake, submissions: Sequence[Submission], holders: Mapping[bytes, KeyHolder], *, on_trust: bool
) -> list[Receipt] | None:
    """None unless all of it is done: what is not has to pass admission like everything else."""
    held_by = [holders.get(item.job_key) if item.job_key else None for item in submissions]
    if any(holder is None or holder.state is not JobState.SUCCEEDED for holder in held_by):
        return None
    receipts = await _answer_held(intake, submissions, holders, on_trust=on_trust)
    return [receipts[item.id] for item in submissions] if len(receipts) == len(submissions) else None


async def _answer_existing(intake: Intake, submissions: Sequence[Submission]) -> dict[UUID, Receipt]:
    survey = await intake.store.survey(_keys(submissions))
    return await _answer_held(intake, submissions, survey.holders)


async def _answer_held(
    intake: Intake,
    submissions: Sequence[Submission],
    holders: Mapping[bytes, KeyHolder],
    *,
    on_trust: bool = False,
) -> dict[UUID, Receipt]:
    kinds = {item.job_key: item.kind for item in submissions if item.job_key is not None}
    usable = holders if on_trust else await _usable_holders(intake, holders.values(), kinds)
    held = [
        (usable[item.job_key], item.created_by)
        for item in submissions
        if item.job_key is not None and item.job_key in usable
    ]
    asked = [(holder.job_id, who) for holder, who in held if not _has_its_own(holder, who)]
    live = await intake.store.add_interests(asked) if asked else frozenset()
    live |= {holder.job_id for holder, who in held if _has_its_own(holder, who)}
    receipts = {}
    for item in submissions:
        holder = usable.get(item.job_key) if item.job_key else None
        if holder is not None and holder.job_id in live:
            receipts[item.id] = Receipt(holder.job_id, "existing", holder.state, holder.artifact)
    return receipts


def _has_its_own(holder: KeyHolder, who: str) -> bool:
    """Its creator may read it, and nobody can cancel what is done: there is no interest to write down."""
    return holder.state is JobState.SUCCEEDED and holder.created_by == who


async def _usable_holders(
    intake: Intake, holders: Iterable[KeyHolder], kinds: Mapping[bytes, str]
) -> dict[bytes, KeyHolder]:
    """A success whose time is over or whose artifact is gone answers for nothing any more: it is marked expired and
    the work redone."""
    usable: dict[bytes, KeyHolder] = {}
    over, kept = _apart(holders)
    if over:
        for kind in await intake.store.expire_holders([holder.job_id for holder in over], "intake"):
            note_transition(Transition(kind, JobState.EXPIRED))
    for holder in kept:
        key = holder.artifact_key
        size_bytes = holder.artifact.size_bytes if holder.artifact else None
        if key is not None and not await intake.artifacts.exists(key, size_bytes):
            # Of what is damaged a part still lies there, and nobody would find it once its job has let go of it.
            await intake.artifacts.delete_bytes(key)
            if await intake.store.expire_vanished(holder.job_id, key, "intake"):
                note_transition(Transition(kinds[holder.job_key], JobState.EXPIRED))
            continue
        usable[holder.job_key] = holder
    return usable


def _apart(holders: Iterable[KeyHolder]) -> tuple[list[KeyHolder], list[KeyHolder]]:
    over: list[KeyHolder] = []
    kept: list[KeyHolder] = []
    for holder in holders:
        (over if holder.state is JobState.EXPIRED else kept).append(holder)
    return over, kept
