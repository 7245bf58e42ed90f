"""Work that meets trouble: retries, a dead letter with a person's decisions, a cancel."""

from __future__ import annotations

from quire.entrypoints.demo.scenario import Job, Scenario, Stage, expect


def transient(stage: Stage) -> str:
    job = stage.ended(stage.submit("jobs.fail", {"code": "TRANSIENT", "until_attempt": 3}))
    expect(job["state"] == "succeeded" and job["attempt"] == 3, f"{job['state']} at attempt {job['attempt']}")
    return "succeeded at attempt 3"


def dead_letter(stage: Stage) -> str:
    """Nobody's retry makes it succeed, so the second decision is to give it up."""
    job = stage.ended(stage.submit("jobs.fail", {"code": "DEMO_BROKEN"}))
    _decide(stage, job, "retry")
    again = stage.ended(job["id"])
    restarts = [event["reason"] for event in again["timeline"]].count("restarted")
    expect(restarts == 1, f"restarted {restarts} times after one approval")
    _decide(stage, again, "discard")
    expect(stage.ended(job["id"])["state"] == "expired", "the discarded job is still there")
    return "problem retried, then discarded"


def _decide(stage: Stage, job: Job, decision: str) -> None:
    expect(job["state"] == "failed" and job["problem_id"] is not None, f"job is {job['state']}, no problem")
    problem = stage.api.post(f"/problems/{job['problem_id']}/decide", {"decision": decision})
    expect(problem["user_decision"] == decision, f"decided {problem['user_decision']}")


def cancel(stage: Stage) -> str:
    job_id = stage.submit("jobs.sleep", {"seconds": 600})
    stage.until(job_id, frozenset({"running"}))
    outcome = stage.api.post(f"/jobs/{job_id}/cancel")["outcome"]
    expect(outcome == "cancelling", f"the answer was {outcome}")
    job = stage.ended(job_id)
    expect(job["state"] == "cancelled", f"the job is {job['state']}")
    return "600 s of sleep cut short"


TROUBLE = (
    Scenario("jobs.fail", "retries until it succeeds", transient, diagnostic=True),
    Scenario("jobs.fail", "a dead letter awaits decisions", dead_letter, diagnostic=True),
    Scenario("jobs.sleep", "a running job is cancelled", cancel, diagnostic=True),
)
