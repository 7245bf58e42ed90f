"""One thing that the demo proves on a running Quire: a function that does it for real and says what it saw."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from quire.entrypoints.api_client import ApiClient
from quire.jobs.domain.errors import UNKNOWN_KIND
from quire.kernel import QuireError

JOB_SECONDS = 60.0
ENDED = frozenset({"succeeded", "failed", "cancelled", "expired"})

Job = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """`run` returns what it saw, in a few words, or raises. `diagnostic`: it needs the diagnostic kinds."""

    job: str
    shows: str
    run: Callable[[Stage], str]
    diagnostic: bool = False


@dataclass(frozen=True)
class Result:
    """`left_out`: the Quire at hand does not take the kinds that it needs."""

    scenario: Scenario
    passed: bool
    seconds: float
    detail: str
    left_out: bool = False

    @property
    def failed(self) -> bool:
        return not self.passed and not self.left_out


class DemoError(QuireError):
    code = "DEMO_FAILED"
    title = "The demo saw something else than it expected"


class Stage:
    """What scenarios act on. `mark` makes this run's work different from that of every run before."""

    def __init__(self, api: ApiClient) -> None:
        self.api = api
        self.mark = uuid4().hex[:12]

    def submit(self, kind: str, payload: dict[str, Any], **fields: Any) -> str:
        body = {"kind": kind, "payload": {**payload, "demo": self.mark}, **fields}
        return str(self.api.post("/jobs", body)["job_id"])

    def ended(self, job_id: str) -> Job:
        return self.until(job_id, ENDED)

    def until(self, job_id: str, states: frozenset[str]) -> Job:
        deadline = time.monotonic() + JOB_SECONDS
        # A long poll answers at the end only; other states are looked for often.
        wait = 5.0 if states <= ENDED else 0.05
        while True:
            job: Job = self.api.get(f"/jobs/{job_id}", wait=wait)
            if job["state"] in states:
                return job
            expect(job["state"] not in ENDED, f"{job['kind']} is {job['state']}: {job['error_message']}")
            expect(time.monotonic() < deadline, f"{job['kind']} still {job['state']} after {JOB_SECONDS:g} s")


def expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise DemoError(otherwise)


def play(scenario: Scenario, api: ApiClient) -> Result:
    started = time.monotonic()
    passed = left_out = False
    try:
        passed, detail = True, scenario.run(Stage(api))
    except QuireError as error:
        left_out = scenario.diagnostic and error.code == UNKNOWN_KIND
        detail = "QUIRE_DIAGNOSTIC_KINDS is off" if left_out else f"{error.code}: {error.detail}"
    return Result(scenario, passed, time.monotonic() - started, detail, left_out)
