"""J1: the transition table itself."""

from __future__ import annotations

from quire.jobs.domain.state import ENDED_STATES, LIVE_STATES, TRANSITIONS, JobState, may_move


def test_every_state_has_its_row_and_can_be_reached() -> None:
    assert set(TRANSITIONS) == {None, *JobState}
    assert {target for targets in TRANSITIONS.values() for target in targets} == set(JobState)


def test_nothing_comes_back_from_expired_and_nothing_runs_without_having_been_queued() -> None:
    assert TRANSITIONS[JobState.EXPIRED] == frozenset()
    assert [source for source in TRANSITIONS if may_move(source, JobState.RUNNING)] == [JobState.QUEUED]


def test_only_a_running_job_succeeds_and_a_success_is_never_undone() -> None:
    assert [source for source in TRANSITIONS if may_move(source, JobState.SUCCEEDED)] == [JobState.RUNNING]
    assert TRANSITIONS[JobState.SUCCEEDED] == {JobState.EXPIRED}


def test_every_unfinished_job_can_be_cancelled_and_no_ended_one() -> None:
    for state in JobState:
        assert may_move(state, JobState.CANCELLED) == (state not in ENDED_STATES)


def test_a_success_is_both_ended_and_still_an_answer_for_its_key() -> None:
    assert {JobState.SUCCEEDED} == LIVE_STATES & ENDED_STATES
    assert set(JobState) == LIVE_STATES | ENDED_STATES
