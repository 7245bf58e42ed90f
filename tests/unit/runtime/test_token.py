from __future__ import annotations

import pytest

from quire.runtime.auth.token import mint_token, parse_token


def test_minted_token_parses_back_to_itself() -> None:
    parts = mint_token()
    assert parse_token(parts.text) == parts
    assert len(parts.prefix) == 8
    assert len(parts.secret) >= 32


def test_only_its_own_secret_matches() -> None:
    one, other = mint_token(), mint_token()
    assert one.matches(one.secret_hash)
    assert not one.matches(other.secret_hash)
    assert len(one.secret_hash) == 32


def test_secret_stays_out_of_the_repr() -> None:
    parts = mint_token()
    assert parts.secret not in repr(parts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "qr_",
        "qr_abcdefgh_" + "a" * 31,
        "qr_abcdefgh_" + "a" * 65,
        "qr_ABCDEFGH_" + "a" * 43,
        "qr_abcdefg_" + "a" * 43,
        "xx_abcdefgh_" + "a" * 43,
        "qr_abcdefgh_" + "a" * 43 + "\n",
        "qr_abcdefgh_" + "é" * 43,
        "qr_abcdefg٣_" + "a" * 43,
    ],
)
def test_anything_else_is_no_token(text: str) -> None:
    assert parse_token(text) is None
