"""Which line each step of a conversion leaves, and that its lines belong together."""

from __future__ import annotations

from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from quire.convert import log_transition
from quire.jobs import JobState, Transition

JOB, TRACE = uuid4(), "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize(
    ("state", "attempt", "code", "reason", "steps"),
    [
        (JobState.QUEUED, 0, None, None, ["accepted"]),
        (JobState.RUNNING, 1, None, None, ["claim"]),
        (JobState.SUCCEEDED, 1, None, None, ["complete"]),
        (JobState.QUEUED, 1, "GW_5XX", None, ["failed"]),
        (JobState.FAILED, 3, "GW_5XX", None, ["failed"]),
        (JobState.QUEUED, 1, None, "held", ["held"]),
        (JobState.QUEUED, 1, None, "shutdown", ["shutdown"]),
        (JobState.QUEUED, 0, None, "lease_expired", ["reclaim"]),
        (JobState.FAILED, 0, "WORKER_LOST", "lease_expired", ["reclaim", "failed"]),
        (JobState.QUEUED, 1, None, "runs_alone", []),
        (JobState.EXPIRED, None, None, None, []),
    ],
)
def test_each_step_leaves_its_line(
    state: JobState, attempt: int | None, code: str | None, reason: str | None, steps: list[str]
) -> None:
    with capture_logs() as lines:
        log_transition(
            Transition(
                "convert.pdf_to_xml",
                state,
                code,
                job_id=JOB,
                attempt=attempt,
                reason=reason,
                traceparent=f"00-{TRACE}-b7ad6b7169203331-01",
            )
        )
    assert [line["event"] for line in lines] == steps
    for line in lines:
        assert (line["job_id"], line["trace_id"], line["status"]) == (str(JOB), TRACE, str(state))
        assert (line["attempt"], line["error_code"]) == (attempt, code)
