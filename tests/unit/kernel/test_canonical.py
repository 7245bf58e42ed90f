"""Canonical JSON: the fast way gives the bytes of the slow one."""

from __future__ import annotations

import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from quire.kernel import canonical_json

EXACT = 2**53 - 1
numbers = st.integers(-EXACT, EXACT) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@given(values)
def test_bytes_are_those_of_rfc_8785(value: object) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (-0.0, "0"), (12.5, "12.5"), (1e16, "10000000000000000"), (1e21, "1e+21"), (1e-7, "1e-7")],
)
def test_numbers_are_written_one_way(value: float, text: str) -> None:
    assert canonical_json([value]) == f"[{text}]".encode()


def test_key_order_of_the_input_does_not_matter() -> None:
    pairs = [("b", 1), ("a", {"d": 0.5, "c": [1.5]})]
    assert canonical_json(dict(pairs)) == canonical_json(dict(reversed(pairs)))
    assert json.loads(canonical_json(dict(pairs))) == dict(pairs)
