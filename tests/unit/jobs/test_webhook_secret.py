"""Signing, sealing, and what becomes of an attempt."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path
from uuid import uuid4

import pytest

from quire.entrypoints.shipped import shipped_dir
from quire.jobs.domain.retry import Backoff
from quire.jobs.domain.webhooks.webhook import TEST_EVENT, DeliveryState, Reply, WebhookPolicy, settle
from quire.jobs.domain.webhooks.webhook_errors import SecretUnreadableError, WebhooksUnavailableError
from quire.jobs.domain.webhooks.webhook_signature import new_secret, signed_headers
from quire.jobs.infrastructure.encryption.secret_box import AesGcmSecretBox
from quire.jobs.infrastructure.yaml.located_file import PolicyFileError
from quire.jobs.infrastructure.yaml.webhook_policy import load_webhook_policy

POLICY = WebhookPolicy(attempts=3, backoff=Backoff(10.0, 2.0, 60.0, "full"))


def verdict(status: int | None, attempt: int = 1, event_type: str = "job.failed") -> tuple[str, float, bool]:
    result = settle(uuid4(), 1, event_type, attempt, Reply(status, None, 5), POLICY, lambda: 1.0)
    return result.state, result.delay_seconds, result.gone


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_delivered(status: int) -> None:
    assert verdict(status)[0] == DeliveryState.DELIVERED


@pytest.mark.parametrize("status", [None, 100, 301, 302, 400, 404, 429, 500, 503])
def test_everything_else_is_tried_again_later_and_later(status: int | None) -> None:
    assert verdict(status, attempt=1) == (DeliveryState.FAILED, 20.0, False)
    assert verdict(status, attempt=2) == (DeliveryState.FAILED, 40.0, False)
    assert verdict(status, attempt=3) == (DeliveryState.DEAD, 0.0, False)


def test_gone_ends_it_at_once_and_says_so() -> None:
    assert verdict(410) == (DeliveryState.DEAD, 0.0, True)


def test_a_test_is_tried_once() -> None:
    assert verdict(500, event_type=TEST_EVENT)[0] == DeliveryState.DEAD


def test_each_valid_secret_signs_id_time_and_body() -> None:
    keys = [new_secret(), new_secret()]
    headers = signed_headers("an-id", 1_700_000_000, b'{"a":1}', keys)
    expected = [
        "v1,"
        + base64.b64encode(
            hmac.new(
                base64.b64decode(key.removeprefix("whsec_")), b'an-id.1700000000.{"a":1}', hashlib.sha256
            ).digest()
        ).decode()
        for key in keys
    ]
    assert headers["webhook-signature"].split(" ") == expected
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("an-id", "1700000000")


def test_a_known_message_has_its_known_signature() -> None:
    """A test vector of the Standard Webhooks specification."""
    headers = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_sealed_secret_opens_for_its_owner_only() -> None:
    box, secret = AesGcmSecretBox("a secret of enough bytes"), new_secret()
    sealed = box.seal(secret, "one")
    assert secret.encode() not in sealed
    assert box.open(sealed, "one") == secret
    assert box.seal(secret, "one") != sealed
    for other, owner, data in (
        (box, "two", sealed),
        (AesGcmSecretBox("another secret of enough bytes"), "one", sealed),
        (box, "one", sealed[:-1] + bytes([sealed[-1] ^ 1])),
        (box, "one", b""),
        (box, "one", b"\x01short"),
    ):
        with pytest.raises(SecretUnreadableError):
            other.open(data, owner)


def test_an_accepted_key_opens_and_never_seals() -> None:
    old, new = "a secret of enough bytes", "another secret of enough bytes"
    before, during, after = AesGcmSecretBox(old), AesGcmSecretBox(new, old), AesGcmSecretBox(new)
    sealed = before.seal("x", "one")
    assert during.open(sealed, "one") == "x"
    renewed = during.renewed(sealed, "one")
    assert after.open(renewed, "one") == "x"
    assert during.renewed(renewed, "one") == renewed
    with pytest.raises(SecretUnreadableError):
        before.open(during.seal("x", "one"), "one")
    with pytest.raises(SecretUnreadableError):
        during.renewed(sealed, "two")


def test_without_a_secret_key_nothing_is_sealed() -> None:
    box = AesGcmSecretBox("")
    assert not box.usable
    with pytest.raises(WebhooksUnavailableError):
        box.seal("x", "one")


def test_the_shipped_policy_spreads_its_attempts_over_a_day(tmp_path: Path) -> None:
    policy = load_webhook_policy(shipped_dir("config"))
    longest = sum(policy.backoff.delay_seconds(retry, lambda: 1.0) for retry in range(1, policy.attempts))
    assert policy.attempts == 8
    assert 23 * 3600 < longest < 25 * 3600
    assert load_webhook_policy(tmp_path) == policy


def test_a_typo_in_the_policy_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "webhooks.yaml").write_text("version: 1\nretry:\n  atempts: 3\n", encoding="utf-8")
    with pytest.raises(PolicyFileError, match=r"webhooks\.yaml:3: retry\.atempts"):
        load_webhook_policy(tmp_path)
