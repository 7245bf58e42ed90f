"""Loaded by Schemathesis (SCHEMATHESIS_HOOKS): what its own `positive_data_acceptance` asks too broadly.

A schema cannot say that a cursor was given out or that a date is ahead, so such refusals are typed codes of their
own. But a request that fits the schema must never fail validation against that schema.
"""

from __future__ import annotations

import schemathesis
from schemathesis import Case, CheckContext, Response


@schemathesis.check
def schema_is_what_validation_asks(ctx: CheckContext, response: Response, case: Case) -> None:
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code != 422:
        return
    problem = response.json()
    assert problem["error_code"] != "VALIDATION_FAILED", f"fits the schema, yet: {problem['errors']}"
