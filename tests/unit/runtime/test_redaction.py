from __future__ import annotations

import pytest

from quire.runtime.auth.token import mint_token
from quire.runtime.telemetry.redaction import redact, redact_text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("connect postgresql://quire:hunter2@db/quire", "hunter2"),
        ("postgresql://quire:p/a@ss@db:5432/quire failed", "ss@db"),
        ("amqp://:hunter2@host", "hunter2"),
        ("Authorization: Bearer abc.def-ghi", "abc.def"),
        ("host=db password=hunter2 user=x", "hunter2"),
        ("GET /storage/k?expires=1&signature=deadbeef&name=a", "deadbeef"),
    ],
)
def test_secret_is_masked_and_the_rest_stays(text: str, secret: str) -> None:
    masked = redact_text(text)
    assert secret not in masked
    assert "***" in masked


def test_token_keeps_its_prefix_only() -> None:
    parts = mint_token()
    assert redact_text(f"used {parts.text}!") == f"used qr_{parts.prefix}_***!"


def test_harmless_text_is_left_alone() -> None:
    for text in ("http://localhost:8700/jobs?limit=5", "token_id 7 of qr_users", "a:b@c"):
        assert redact_text(text) == text


class Leaky:
    def __repr__(self) -> str:
        return "Leaky(password=hunter2)"


def test_secrets_are_found_in_depths_keys_and_reprs() -> None:
    event = {"headers": {"Authorization": "x", "Cookie": "y"}, "items": ({"dsn": "a://b:c@d"},), "o": Leaky()}
    assert redact(event) == {
        "headers": {"Authorization": "***", "Cookie": "***"},
        "items": [{"dsn": "a://b:***@d"}],
        "o": "Leaky(password=***",
    }


def test_endless_nesting_ends() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert "…" in str(redact(loop))
