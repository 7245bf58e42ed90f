from __future__ import annotations

import json

import pytest

from quire import kernel
from quire.kernel import QuireError, RateLimitedError, UnavailableError
from quire.runtime.http.problem_json import problem_response, status_of


@pytest.mark.parametrize(
    ("family", "status"),
    [
        ("MalformedRequestError", 400),
        ("NotAcceptableError", 406),
        ("UnsupportedMediaError", 415),
        ("InvalidInputError", 422),
        ("TooLargeError", 413),
        ("UnauthenticatedError", 401),
        ("ForbiddenError", 403),
        ("NotFoundError", 404),
        ("ConflictError", 409),
        ("RateLimitedError", 429),
        ("UnavailableError", 503),
        ("QuireError", 500),
    ],
)
def test_each_family_has_its_status_and_so_have_its_children(family: str, status: int) -> None:
    parent: type[QuireError] = getattr(kernel, family)
    child = type("ChildError", (parent,), {})
    assert status_of(parent()) == status_of(child()) == status


def test_every_family_of_the_kernel_is_in_the_table_by_itself() -> None:
    errors = [
        thing for thing in vars(kernel).values() if isinstance(thing, type) and issubclass(thing, QuireError)
    ]
    families = [error for error in errors if QuireError in error.__bases__]
    assert len(families) == 12
    assert {status_of(error()) for error in errors if error is not QuireError}.isdisjoint({500})


def test_waiting_time_is_a_header_too() -> None:
    limited = problem_response(RateLimitedError("slow down", extra={"retry_after_seconds": 17}))
    assert limited.headers["Retry-After"] == "17"
    assert json.loads(limited.body)["retry_after_seconds"] == 17
    assert int(problem_response(UnavailableError()).headers["Retry-After"]) > 0


def test_detail_that_is_not_unicode_still_makes_an_answer() -> None:
    answer = problem_response(kernel.InvalidInputError("half a pair: \ud800"))
    assert json.loads(answer.body)["detail"].startswith("half a pair")
