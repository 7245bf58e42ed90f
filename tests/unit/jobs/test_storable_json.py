"""Which payloads and results are refused before they reach the database."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.jobs.application.intake.payload_check import check_payload
from quire.jobs.application.intake.storable_json import DEEPEST, flaw_of
from quire.jobs.domain.errors import PayloadTooLargeError, PayloadUndecodableError
from quire.jobs.domain.job_key import job_key_of
from quire.jobs.ports.v1.handler import Handler, JobContext

values = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


async def _never(payload: object, context: JobContext) -> None:
    raise AssertionError


def nested(depth: int, value: object) -> object:
    for _ in range(depth):
        value = [value]
    return value


@given(values)
def test_a_value_is_flawed_exactly_when_a_text_in_it_holds_nul(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert (flaw_of(value, text.encode()) is not None) == ("\\u0000" in text.replace("\\\\", ""))


@pytest.mark.parametrize("leaf", [1, "text", [], {}])
def test_depth_is_bounded_and_counted_without_recursion(leaf: object) -> None:
    fits, deep = nested(DEEPEST - 1, leaf), nested(DEEPEST + 1, leaf)
    assert flaw_of(fits, b"[" * 500) is None
    assert flaw_of(deep, b"[" * 500) is not None
    assert flaw_of(nested(200_000, leaf), b"[" * 500) is not None


def test_a_payload_is_measured_in_the_bytes_that_are_stored() -> None:
    handler = Handler("jobs.x", _never)
    assert check_payload({"b": 1, "a": "ş"}, handler, 17) == '{"a":"ş","b":1}'.encode()
    with pytest.raises(PayloadTooLargeError):
        check_payload({"a": "ş" * 10}, handler, 17)


def test_a_payload_that_does_not_fit_the_schema_is_told_where() -> None:
    schema = {"type": "object", "properties": {"pages": {"items": {"type": "integer"}}}}
    handler = Handler("jobs.x", _never, schema=schema)
    with pytest.raises(PayloadUndecodableError, match="pages/1"):
        check_payload({"pages": [1, "two"]}, handler, 1000)


@given(values, values)
def test_equal_work_has_an_equal_key_and_different_work_a_different_one(one: object, other: object) -> None:
    handler = Handler("jobs.x", _never)
    keys = []
    for value in (one, other):
        try:
            payload = check_payload({"v": value}, handler, 10_000)
        except PayloadUndecodableError:
            return
        keys.append(job_key_of("acme", "jobs.x", payload, {}))
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (keys[0] == keys[1]) == same


def test_the_key_depends_on_tenant_kind_and_parameters() -> None:
    keys = {
        job_key_of(tenant, kind, b"{}", parameters)
        for tenant in ("a", "b")
        for kind in ("jobs.x", "jobs.y")
        for parameters in ({}, {"v": 1})
    }
    assert len(keys) == 8
