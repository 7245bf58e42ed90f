from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.kernel import InvalidInputError
from quire.runtime.http import decode_cursor, encode_cursor


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=50),
    st.integers(-(2**53) + 1, 2**53 - 1),
)
def test_cursor_comes_back_as_it_went(text: str, number: int) -> None:
    assert decode_cursor(encode_cursor(text, number), str, int) == (text, number)


@given(st.text(max_size=60))
def test_arbitrary_text_is_refused_with_its_type_or_is_canonical(text: str) -> None:
    assert outcome(text) in {text, "CURSOR_INVALID"}


def outcome(text: str) -> str:
    try:
        return encode_cursor(*decode_cursor(text, str))
    except InvalidInputError as error:
        return error.code


@pytest.mark.parametrize(
    "raw",
    [
        b"[1]",
        b'["a","b"]',
        b'{"a":1}',
        b"null",
        b"[true]",
        b'[ "a" ]',
        b"[" * 400,
        b'["\\ud800"]',
        b'["\\u0000"]',
        b"[NaN]",
    ],
)
def test_other_positions_and_other_spellings_are_refused(raw: bytes) -> None:
    text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    with pytest.raises(InvalidInputError) as caught:
        decode_cursor(text, str)
    assert caught.value.code == "CURSOR_INVALID"


def test_a_boolean_is_not_a_number() -> None:
    with pytest.raises(InvalidInputError):
        decode_cursor(encode_cursor(True), int)


def test_endless_cursor_is_refused_unread() -> None:
    with pytest.raises(InvalidInputError):
        decode_cursor("A" * 1025, str)
