"""Random lives of jobs on a real database, step by step against a model.

`QUIRE_PROPERTY_EXAMPLES=2000` makes a soak of it: other examples every time, and a failure is shrunk to its shortest.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.support.engine_driver import EngineDriver
from tests.support.job_model import MAX_CRASHES, Model

from quire.jobs import JobState
from quire.jobs.domain.errors import DependencyUnusableError
from quire.jobs.domain.lease import Lease
from quire.jobs.domain.state import may_move
from quire.kernel import ConflictError, new_uuid7

WORKERS = [UUID(int=number) for number in (1, 2, 3)]
# Few jobs live long lives: three crashes, a retry after a newer job, a chain that dies and comes back.
JOBS_MAX = 7
KEYS = [None, None, b"a" * 32, b"b" * 32]
EXAMPLES = int(os.environ.get("QUIRE_PROPERTY_EXAMPLES", "0"))
COLUMNS = (
    "id, state, attempt, retry_count, crash_count, fence, leased_by, error_code,"
    " cancel_requested_at IS NOT NULL, pending_dependencies"
)

workers = st.sampled_from(WORKERS)
picks = st.integers(0, 30)


class JobMachine(RuleBasedStateMachine):
    def __init__(self, driver: EngineDriver) -> None:
        super().__init__()
        self.driver = driver
        self.model = Model()
        # Every lease ever given, its worker, and whether that worker still knows of it.
        self.leases: list[tuple[UUID, Lease]] = []
        self.forgotten: set[tuple[UUID, int]] = set()
        self.fences: dict[UUID, int] = {}
        self.last_state: dict[UUID, str | None] = {}
        self.last_event = 0
        driver.clear()
        self.last_event = driver.sql("SELECT coalesce(max(event_no), 0) FROM job_events")[0][0]

    # --- workers

    @precondition(lambda self: len(self.model.jobs) < JOBS_MAX)
    @rule(key=st.sampled_from(KEYS), wanted=st.lists(picks, max_size=2))
    def enqueue(self, key: bytes | None, wanted: list[int]) -> None:
        known = list(self.model.jobs)
        depends_on = tuple({known[pick % len(known)] for pick in wanted}) if known else ()
        job_id = new_uuid7()
        if not self.model.may_wait_for(depends_on):
            with pytest.raises(DependencyUnusableError):
                self.driver.insert(job_id, key, depends_on)
            return
        free = not self.model.key_is_held(key)
        assert self.driver.insert(job_id, key, depends_on) == free
        if free:
            self.model.enqueue(job_id, key, depends_on)

    @rule(worker=workers, limit=st.integers(1, 3))
    def claim(self, worker: UUID, limit: int) -> None:
        oldest = self.oldest_queued("crash_count < $2", limit)
        self.note_claim(worker, oldest, self.driver.claim(worker, limit))

    @rule(worker=workers)
    def claim_suspect(self, worker: UUID) -> None:
        oldest = self.oldest_queued("crash_count >= $2", 1)
        self.note_claim(worker, oldest, self.driver.claim_suspect(worker))

    def oldest_queued(self, which: str, limit: int) -> list[UUID]:
        order = (
            f"SELECT id FROM jobs WHERE state = 'queued' AND {which} ORDER BY priority, run_at, id LIMIT $1"
        )
        return [row[0] for row in self.driver.sql(order, limit, MAX_CRASHES - 1)]

    def note_claim(self, worker: UUID, oldest: list[UUID], taken: list[Lease]) -> None:
        assert [lease.job_id for lease in taken] == oldest
        for lease in taken:
            self.model.claim(lease.job_id, worker)
            self.leases.append((worker, lease))

    @precondition(lambda self: self.leases)
    @rule(worker=workers)
    def heartbeat(self, worker: UUID) -> None:
        mine = {
            lease.job_id: lease
            for owner, lease in self.leases
            if owner == worker and (lease.job_id, lease.fence) not in self.forgotten
        }
        reply = self.driver.renew(worker, list(mine.values()))
        held = {job_id for job_id, lease in mine.items() if self.model.holds(worker, job_id, lease.fence)}
        assert reply.lost == mine.keys() - held
        assert reply.cancel_requested == {
            job_id for job_id in held if self.model.jobs[job_id].cancel_requested
        }
        for job_id in held:
            self.model.jobs[job_id].lease_expired = False

    @precondition(lambda self: self.leases)
    @rule(pick=picks, count=st.integers(1, 3))
    def complete(self, pick: int, count: int) -> None:
        """A batch of one worker, with whatever stale leases are among them."""
        worker = self.leases[pick % len(self.leases)][0]
        mine = [lease for owner, lease in self.leases if owner == worker]
        batch = list({lease.job_id: lease for lease in mine[-count:]}.values())
        held = [lease.job_id for lease in batch if self.model.holds(worker, lease.job_id, lease.fence)]
        assert self.driver.complete(worker, batch) == set(held)
        for job_id in held:
            self.model.succeed(job_id)

    @precondition(lambda self: self.leases)
    @rule(
        pick=picks,
        anyone=st.booleans(),
        how=st.sampled_from(["succeed", "retry", "bury", "hand_back", "end_cancelled"]),
    )
    def write(self, pick: int, anyone: bool, how: str) -> None:
        """By the holder, by a zombie, by someone who finished long ago: only the current fence counts."""
        current = [item for item in self.leases if self.model.holds(item[0], item[1].job_id, item[1].fence)]
        choice = self.leases if anyone or not current else current
        worker, lease = choice[pick % len(choice)]
        held = self.model.holds(worker, lease.job_id, lease.fence)
        assert self._send(how, worker, lease) == ({lease.job_id} if held else set())
        if held:
            codes = {"retry": ("AGAIN",), "bury": ("NEVER",)}.get(how, ())
            getattr(self.model, how)(lease.job_id, *codes)

    def _send(self, how: str, worker: UUID, lease: Lease) -> frozenset[UUID]:
        if how == "succeed":
            return self.driver.complete(worker, [lease])
        if how == "retry":
            return self.driver.retry(worker, lease, "AGAIN")
        if how == "bury":
            return self.driver.bury(worker, lease, "NEVER")
        return (
            self.driver.hand_back(worker, lease)
            if how == "hand_back"
            else self.driver.end_cancelled(worker, lease)
        )

    @rule(worker=workers)
    def crash(self, worker: UUID) -> None:
        """It beats no more for what it held, but may come back as a zombie and write."""
        self.forgotten |= {(lease.job_id, lease.fence) for owner, lease in self.leases if owner == worker}

    @precondition(lambda self: self.model.in_state("running"))
    @rule(pick=picks)
    def expire_lease(self, pick: int) -> None:
        running = self.model.in_state("running")
        job = running[pick % len(running)]
        self.driver.expire_lease(job.id)
        job.lease_expired = True

    @precondition(lambda self: any(job.lease_expired for job in self.model.jobs.values()))
    @rule()
    def reclaim(self) -> None:
        assert self.driver.reclaim() == self.model.reclaim()

    @precondition(lambda self: self.model.in_state("queued", "running"))
    @rule(worker=workers, times=st.integers(1, 3))
    def keep_crashing(self, worker: UUID, times: int) -> None:
        for _ in range(times):
            self.claim(worker, 2)
            self.claim_suspect(worker)
            for pick in range(len(self.model.in_state("running"))):
                self.expire_lease(pick)
            self.reclaim()

    # --- people

    @precondition(lambda self: self.model.jobs)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        job_id = list(self.model.jobs)[pick % len(self.model.jobs)]
        assert self.driver.cancel(job_id) == self.model.cancel(job_id)

    @precondition(lambda self: self.model.in_state("failed"))
    @rule(pick=picks, decision=st.sampled_from(["retry", "retry", "discard"]))
    def decide(self, pick: int, decision: str) -> None:
        failed = self.model.in_state("failed")
        job_id = failed[pick % len(failed)].id
        refusal = None
        if decision == "retry":
            refusal = self.model.restart(job_id)
        else:
            self.model.expire(job_id)
        if refusal is None:
            self.driver.decide(job_id, decision)
        else:
            with pytest.raises(ConflictError) as answer:
                self.driver.decide(job_id, decision)
            assert answer.value.code == refusal

    @precondition(lambda self: self.model.in_state("succeeded", "failed", "cancelled"))
    @rule(pick=picks)
    def outlive(self, pick: int) -> None:
        done = self.model.in_state("succeeded", "failed", "cancelled")
        job_id = done[pick % len(done)].id
        assert self.driver.expire_job(job_id) == 1
        self.model.expire(job_id)

    # --- what must hold after every step

    @invariant()
    def every_job_is_as_the_model_says(self) -> None:
        stored = {row[0]: row[1:] for row in self.driver.sql(f"SELECT {COLUMNS} FROM jobs")}
        assert stored.keys() == self.model.jobs.keys()
        for job_id, job in self.model.jobs.items():
            *common, pending = stored[job_id]
            assert common == [
                job.state,
                job.attempt,
                job.retry_count,
                job.crash_count,
                job.fence,
                job.holder,
                job.error_code,
                job.cancel_requested,
            ], job
            if job.state == "waiting":
                assert pending == self.model.pending(job) > 0
            assert job.fence >= self.fences.get(job_id, 0)
            self.fences[job_id] = job.fence

    @invariant()
    def each_job_stands_in_the_line_of_its_state_and_in_no_other(self) -> None:
        lined_up = sorted(row[0] for row in self.driver.sql("SELECT job_id FROM job_lanes"))
        unstarted = self.model.in_state("queued"), self.model.in_state("waiting")
        assert lined_up == sorted(job.id for jobs in unstarted for job in jobs)
        waiting = "SELECT job_id FROM job_lanes WHERE run_at = 'infinity'"
        assert {row[0] for row in self.driver.sql(waiting)} == {
            job.id for job in self.model.in_state("waiting")
        }
        suspects = "SELECT job_id FROM job_lanes WHERE solo"
        assert {row[0] for row in self.driver.sql(suspects)} == {
            job.id for job in self.model.in_state("queued") if job.crash_count >= MAX_CRASHES - 1
        }
        running = sorted(row[0] for row in self.driver.sql("SELECT job_id FROM job_running"))
        assert running == sorted(job.id for job in self.model.in_state("running"))

    @invariant()
    def each_failed_job_has_one_open_problem_and_no_other_has_any(self) -> None:
        rows = self.driver.sql("SELECT job_id FROM problems WHERE user_decision IS NULL")
        assert sorted(row[0] for row in rows) == sorted(job.id for job in self.model.in_state("failed"))
        assert {job.id for job in self.model.jobs.values() if job.problem_open} == {row[0] for row in rows}

    @invariant()
    def every_timeline_is_unbroken_and_follows_the_transition_table(self) -> None:
        new = "SELECT event_no, job_id, from_state, to_state FROM job_events WHERE event_no > $1 ORDER BY event_no"
        for number, job_id, source, target in self.driver.sql(new, self.last_event):
            assert source == self.last_state.get(job_id), (job_id, source, target)
            assert may_move(JobState(source) if source else None, JobState(target)), (source, target)
            self.last_state[job_id] = target
            self.last_event = number
        assert {job_id: job.state for job_id, job in self.model.jobs.items()} == self.last_state


def test_jobs_keep_every_promise_through_random_lives(dsn: str, tmp_path: Path) -> None:
    driver = EngineDriver(dsn, tmp_path)
    try:
        run_state_machine_as_test(
            lambda: JobMachine(driver),  # type: ignore[arg-type]
            settings=settings(
                max_examples=EXAMPLES or 60,
                stateful_step_count=50 if EXAMPLES else 40,
                derandomize=not EXAMPLES,
                phases=[Phase.generate, Phase.shrink] if EXAMPLES else [Phase.generate],
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        driver.close()
