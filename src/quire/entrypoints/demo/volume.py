"""Many at once."""

from __future__ import annotations

import time

from quire.entrypoints.demo.scenario import Scenario, Stage, expect

BATCH = 1000


def thousand(stage: Stage) -> str:
    """The last job waits for all the others, so its end is theirs."""
    jobs = [{"kind": "jobs.noop", "payload": {"n": n, "demo": stage.mark}} for n in range(BATCH)]
    started = time.monotonic()
    results = stage.api.post("/jobs/batch", {"jobs": jobs})["results"]
    expect(len({item["job_id"] for item in results}) == BATCH, "some jobs share an id")
    last = stage.submit("jobs.noop", {"all": True}, depends_on=[item["job_id"] for item in results])
    expect(stage.ended(last)["state"] == "succeeded", "one of them did not succeed")
    seconds = time.monotonic() - started
    return f"{BATCH / seconds:,.0f} jobs/s, all done"


VOLUME = (Scenario(f"jobs.noop ×{BATCH}", "a batch in one request", thousand, diagnostic=True),)
