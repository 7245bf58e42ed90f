"""Work that simply gets done: results, artifacts, fan-in, once however often it is asked for."""

from __future__ import annotations

import hashlib
import io

from quire.entrypoints.cli.moments import size
from quire.entrypoints.demo.scenario import Scenario, Stage, expect


def echo(stage: Stage) -> str:
    job = stage.ended(stage.submit("jobs.echo", {"hello": "world"}))
    expect(job["state"] == "succeeded" and job["result"] == job["payload"], f"got {job['result']}")
    return f"done at attempt {job['attempt']}"


def artifact(stage: Stage) -> str:
    job = stage.ended(stage.submit("jobs.store", {"text": f"{stage.mark}\n", "repeat": 1000}))
    expect(job["state"] == "succeeded" and job["artifact"], f"job is {job['state']}")
    copy = io.BytesIO()
    written = stage.api.download(job["artifact"]["path"], copy)
    digest = hashlib.sha256(copy.getvalue()).hexdigest()
    expect(digest == job["artifact"]["sha256"], "the downloaded bytes have another hash")
    return f"{size(written)}, equal sha256 {digest[:8]}…"


def twice(stage: Stage) -> str:
    body = {"kind": "jobs.echo", "payload": {"once": stage.mark}}
    first, second = stage.api.post("/jobs", body), stage.api.post("/jobs", body)
    expect(
        (first["outcome"], second["outcome"]) == ("created", "existing"), f"second was {second['outcome']}"
    )
    expect(first["job_id"] == second["job_id"], "two jobs for one piece of work")
    stage.ended(first["job_id"])
    return f"both are job {first['job_id'][:13]}…"


def fan_in(stage: Stage) -> str:
    children = [{"kind": "jobs.echo", "payload": {"page": n, "demo": stage.mark}} for n in range(3)]
    parent = {"kind": "jobs.echo", "payload": {"merge": stage.mark}, "depends_on": ["#0", "#1", "#2"]}
    results = stage.api.post("/jobs/batch", {"jobs": [*children, parent]})["results"]
    merged = stage.ended(results[3]["job_id"])
    expect(merged["state"] == "succeeded", f"the parent is {merged['state']}")
    finished = [stage.ended(item["job_id"])["finished_at"] for item in results[:3]]
    expect(max(finished) <= merged["started_at"], "the parent began before its children had ended")
    return "3 children, then their parent"


DELIVERY = (
    Scenario("jobs.echo", "a job returns its result", echo, diagnostic=True),
    Scenario("jobs.store", "an artifact, stored and fetched", artifact, diagnostic=True),
    Scenario("jobs.echo ×2", "asked twice, done once", twice, diagnostic=True),
    Scenario("batch 3 + 1", "fan-out and fan-in", fan_in, diagnostic=True),
)
