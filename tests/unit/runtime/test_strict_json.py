from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.kernel import InvalidInputError, MalformedRequestError
from quire.runtime.http.strict_json import DEEPEST, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_parses_what_can_be_stored_and_refuses_the_rest(value: object, ascii_only: bool) -> None:
    try:
        body = json.dumps(value, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return
    assert outcome(body) in (value, "TEXT_NOT_STORABLE")


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_raise_anything_untyped(body: bytes) -> None:
    outcome(body)


def outcome(body: bytes) -> object:
    """The value, or the code of its refusal."""
    try:
        value = parse_json(body)
    except (InvalidInputError, MalformedRequestError) as error:
        return error.code
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_depth_is_bounded_exactly() -> None:
    parse_json(nested(DEEPEST))
    for depth in (DEEPEST + 1, 100_000):
        with pytest.raises(InvalidInputError) as caught:
            parse_json(nested(depth))
        assert caught.value.code == "JSON_TOO_DEEP"


def test_wide_documents_are_not_deep() -> None:
    assert len(parse_json(json.dumps([{"a": []}] * 500).encode())) == 500


@pytest.mark.parametrize("body", [b'{"\\u0000": 1}', b'["\\ud83d"]', b'{"a": [{"b": "x\\u0000"}]}'])
def test_unstorable_text_is_found_in_keys_and_depths(body: bytes) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_json(body)
    assert caught.value.code == "TEXT_NOT_STORABLE"


def test_escaped_pairs_and_escaped_backslashes_are_text_like_any_other() -> None:
    assert parse_json(b'["\\ud83d\\ude00", "\\\\u0000"]') == ["😀", "\\u0000"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 1}',
        b'{"payload": {"deep": [{"a": 1, "b": 2, "a": 3}]}}',
        b'{"a": 1, "\\u0061": 2}',
        b'[{"": 0, "": 0}]',
    ],
)
def test_a_key_given_twice_is_refused_at_every_level(body: bytes) -> None:
    with pytest.raises(MalformedRequestError) as caught:
        parse_json(body)
    assert caught.value.code == "JSON_DUPLICATE_KEY"


def test_equal_keys_of_different_objects_are_fine() -> None:
    assert parse_json(b'{"a": {"a": [{"a": 1}, {"a": 2}]}}') == {"a": {"a": [{"a": 1}, {"a": 2}]}}


def test_a_number_of_ten_thousand_digits_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        parse_json(b"1" * 10_000)
