from __future__ import annotations

import asyncio

import pytest

from quire.runtime.telemetry import current_trace_id, current_traceparent, start_span
from quire.runtime.telemetry.trace import parse_traceparent

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


def test_outside_a_span_there_is_no_trace() -> None:
    assert current_trace_id() is None
    assert current_traceparent() is None


def test_span_continues_the_given_trace_with_an_id_of_its_own() -> None:
    with start_span("work", GIVEN) as span:
        assert current_trace_id() == span.trace_id == "0af7651916cd43dd8448eb211c80319c"
        assert span.span_id != "b7ad6b7169203331"
        assert current_traceparent() == f"00-{span.trace_id}-{span.span_id}-00"
    assert current_trace_id() is None


def test_inner_span_belongs_to_the_outer_trace() -> None:
    with start_span("outer") as outer:
        with start_span("inner") as inner:
            assert inner.trace_id == outer.trace_id
            assert inner.span_id != outer.span_id
        assert current_traceparent() == outer.traceparent
        with start_span("foreign", GIVEN) as foreign:
            assert foreign.trace_id != outer.trace_id


def test_span_ends_when_its_work_fails() -> None:
    with pytest.raises(ValueError), start_span("fails"):
        raise ValueError
    assert current_trace_id() is None


async def test_tasks_see_their_own_spans() -> None:
    async def work() -> bool:
        with start_span("task") as span:
            await asyncio.sleep(0)
            return current_trace_id() == span.trace_id

    assert all(await asyncio.gather(*(work() for _ in range(20))))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "nonsense",
        GIVEN.upper(),
        GIVEN.replace("00-0af", "ff-0af"),
        "00-" + "0" * 32 + "-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01",
        GIVEN + "\n",
        GIVEN + "-ü",
    ],
)
def test_invalid_traceparent_begins_a_new_trace(text: str | None) -> None:
    assert parse_traceparent(text) is None
    with start_span("fresh", text) as span:
        assert len(span.trace_id) == 32


def test_later_versions_are_read_as_far_as_they_are_known() -> None:
    assert parse_traceparent(GIVEN.replace("00-0af", "01-0af") + "-more") is not None
