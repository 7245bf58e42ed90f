"""Jobs on a terminal: a list to find one, a page that explains one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from rich.text import Text

from quire.entrypoints.cli.moments import ago, between, clock, size, span
from quire.entrypoints.cli.roster import Roster
from quire.entrypoints.cli.sheet import facts, put

Job = dict[str, Any]

STYLES = {
    "waiting": "yellow",
    "queued": "cyan",
    "running": "bold blue",
    "succeeded": "green",
    "failed": "bold red",
    "cancelled": "magenta",
    "expired": "dim",
}
JSON_WIDTH = 300
DEPENDENCIES_SHOWN = 5
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def state_text(state: str) -> Text:
    return Text(state, style=STYLES.get(state, ""))


def show_jobs(jobs: Sequence[Job]) -> None:
    table = Roster(
        *("id", "state", "kind", "age", "note", "queue", "try", "took"),
        right=("age", "try", "took"),
        spare=("took", "try", "queue", "age", "note", "kind"),
        cut=("kind", "note", "queue"),
    )
    for job in jobs:
        table.add_row(
            job["id"],
            state_text(job["state"]),
            job["kind"],
            between(job["created_at"], None),
            _note(job),
            job["queue"],
            str(job["attempt"]),
            between(job["started_at"], job["finished_at"]),
        )
    put(table if jobs else Text("No jobs.", style="dim"))


def _note(job: Job) -> str:
    if job["error_code"]:
        return str(job["error_code"])
    if job["state"] == "running" and job["progress_percent"] is not None:
        return f"{job['progress_percent']} %"
    if job["state"] == "waiting":
        return f"waits for {job['pending_dependencies']}"
    return str(job["external_ref"] or "")


def show_job(job: Job) -> None:
    head = Text.assemble((job["id"], "bold"), "  ", state_text(job["state"]), "  ", job["kind"])
    put(head, "", facts(_facts(job)), "", _timeline(job["timeline"]))


def _facts(job: Job) -> Iterator[tuple[str, str]]:
    yield "queue", f"{job['queue']} ({job['size_class']})"
    if told := standstill_of(job):
        yield "", told
    yield "asked", f"{ago(job['created_at'])} by {job['created_by']} of tenant {job['tenant_id']}"
    if job["started_at"]:
        took = between(job["started_at"], job["finished_at"])
        yield "took", f"{took}, attempt {job['attempt']}{_fence(job)}{_crashes(job['crash_count'])}"
    elif job["state"] == "queued" and job["run_at"] > job["created_at"]:
        yield "due", ago(job["run_at"])
    if job["progress_percent"] is not None:
        yield "progress", f"{job['progress_percent']} %"
    if job["depends_on"]:
        yield "waits for", _some(job["depends_on"])
    for name, label in (("external_ref", "ref"), ("document_id", "document"), ("trace_id", "trace")):
        if job[name]:
            yield label, job[name]
    if job["error_code"]:
        yield "error", f"{job['error_code']}: {job['error_message']}"
    if job["problem_id"]:
        yield "problem", f"{job['problem_id']}  (quire problems decide retry|discard ID)"
    if job["artifact"]:
        yield "artifact", _artifact(job["artifact"])
    yield "payload", _compact(job["payload"])
    if job["result"] is not None:
        yield "result", _compact(job["result"])


def standstill_of(job: Job) -> str:
    """Why a job stands still: somebody paused its queue, or no worker serves it."""
    # An older API says neither.
    queue = job["queue"]
    if job.get("queue_paused_at"):
        since = ago(job["queue_paused_at"])
        return f"its queue is paused, by {job['queue_paused_by']} {since}  (quire queues resume {queue})"
    if job.get("queue_live_workers") == 0:
        return f"no live worker serves its queue, {queue}  (quire worker --queues {queue})"
    return ""


def _fence(job: Job) -> str:
    return f", fence {job['timeline'][-1]['fence']}" if job["timeline"] else ""


def _crashes(count: int) -> str:
    return "" if not count else ", 1 crash" if count == 1 else f", {count} crashes"


def _artifact(artifact: dict[str, Any]) -> str:
    return f"{artifact['filename']}, {size(artifact['size_bytes'])}, sha256 {artifact['sha256'][:16]}…"


def _some(names: Sequence[str]) -> str:
    more = len(names) - DEPENDENCIES_SHOWN
    return "\n".join(names[:DEPENDENCIES_SHOWN]) + (f"\nand {more} more" if more > 0 else "")


def _compact(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= JSON_WIDTH else f"{text[:JSON_WIDTH]}… ({len(text)} characters)"


def _timeline(events: Sequence[dict[str, Any]]) -> Roster:
    """`after` is the time since the line above; `took` what the attempt itself measured."""
    table = Roster(
        *("time", "after", "state", "try", "fence", "took", "by", "why"),
        right=("after", "try", "fence", "took"),
        spare=("took", "fence", "try"),
    )
    gaps = ["", *(between(before["at"], after["at"]) for before, after in pairwise(events))]
    for event, gap in zip(events, gaps, strict=True):
        table.add_row(
            clock(event["at"]),
            gap,
            state_text(event["to_state"]),
            str(event["attempt"] or ""),
            str(event["fence"] or ""),
            "" if event["duration_ms"] is None else span(event["duration_ms"] / 1000),
            _actor(event["actor"]),
            " ".join(filter(None, [event["reason"], event["error_code"]])),
        )
    return table


def _actor(name: str) -> str:
    return f"worker {name[:8]}" if _UUID.fullmatch(name) else name
