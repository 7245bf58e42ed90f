"""Which answer of a gateway is which failure, and how settings move the retry rules."""

from __future__ import annotations

import pytest

from quire.convert.domain.gateway_code import checked_code, code_in
from quire.convert.domain.gateway_errors import (
    CHECK_GATEWAY,
    LONGEST_PAUSE_SECONDS,
    REPORT_GATEWAY,
    SEND_ANOTHER,
    refusal_of,
)
from quire.entrypoints.engine import read_policies
from quire.jobs import Policies
from quire.runtime.settings import load_settings


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ((400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 418, 422, 451, 499), "GW_4XX"),
        ((408, 425, 429, 500, 501, 502, 503, 504, 599), "GW_5XX"),
        ((201, 204, 206, 301, 302, 304, 307), "GW_BAD_RESPONSE"),
    ],
)
def test_every_status_has_one_code(statuses: tuple[int, ...], code: str) -> None:
    assert {refusal_of(status, "").code for status in statuses} == {code}


def test_a_pause_that_the_gateway_asks_for_has_an_end() -> None:
    assert refusal_of(503, "", 10.0).retry_after_seconds == 10.0
    assert refusal_of(503, "", 1e9).retry_after_seconds == LONGEST_PAUSE_SECONDS
    assert refusal_of(503, "", -5.0).retry_after_seconds == 0.0
    assert refusal_of(400, "", 10.0).retry_after_seconds == 0.0


def test_the_gateways_own_code_is_read_back_out_of_the_message_it_stands_in() -> None:
    told = refusal_of(422, "the PDF needs a password", gateway_code="PDF_ENCRYPTED").detail
    assert told == "the gateway answered 422 (PDF_ENCRYPTED): the PDF needs a password"
    assert code_in(told) == "PDF_ENCRYPTED"
    for other in (refusal_of(422, "PDF_ENCRYPTED (PDF_ENCRYPTED)").detail, "no answer within 0.4 s", None):
        assert code_in(other) is None


def test_a_refused_file_is_to_be_replaced_and_a_refused_caller_to_be_mended() -> None:
    assert {refusal_of(status, "").remedy for status in (400, 406, 413, 415, 422)} == {SEND_ANOTHER}
    assert {refusal_of(status, "").remedy for status in (401, 403, 404, 405)} == {CHECK_GATEWAY}
    assert {refusal_of(status, "").remedy for status in (302, 408, 429, 503)} == {""}


def test_xml_that_the_gateway_wrote_wrongly_is_not_blamed_on_the_file() -> None:
    told = refusal_of(422, "Duplicate key-sequence", gateway_code="RESULT_NOT_VALID")
    assert (told.code, told.remedy) == ("GW_4XX", REPORT_GATEWAY)
    assert "mended file" not in told.remedy


def test_only_a_short_identifier_in_capitals_passes_as_a_gateways_code() -> None:
    assert checked_code("NO_EMBEDDED_INVOICE") == "NO_EMBEDDED_INVOICE"
    for odd in ("A" * 65, "pdf_encrypted", "A-B", "A)B", "A\n", "_A", "", "ÀB", 422, None, ["A_B"]):
        assert checked_code(odd) is None


def policies(**names: object) -> Policies:
    return read_policies(load_settings(**names))


def attempts(code: str, **names: object) -> int:
    rule = policies(**names).retries.rule_for("convert.xml", code, "small")
    assert rule is not None
    return rule.attempts


def test_the_number_of_attempts_is_a_setting_and_lesser_faults_get_no_more_than_their_own() -> None:
    codes = ("GW_5XX", "GW_TIMEOUT", "GW_BAD_RESPONSE", "IO_ERROR")
    assert [attempts(code) for code in codes] == [3, 3, 2, 2]
    assert [attempts(code, RETRY_MAX_ATTEMPTS=7) for code in codes] == [7, 7, 2, 2]
    assert [attempts(code, RETRY_MAX_ATTEMPTS=1) for code in codes] == [1, 1, 1, 1]
    assert attempts("STORAGE_UNAVAILABLE", RETRY_MAX_ATTEMPTS=1) == 5


def test_refusals_and_mappings_that_are_not_allowed_are_never_tried_again() -> None:
    rules = policies().retries
    assert rules.rule_for("convert.xml", "GW_4XX", "small") is None
    assert rules.rule_for("convert.xml", "MAPPING_NOT_ALLOWED", "small") is None


def test_an_attempt_outlasts_the_call_that_it_makes() -> None:
    assert policies().queues.queue("convert_xml").hard_limit_seconds == 240
    longer = policies(GATEWAY_TIMEOUT_MS=600_000).queues.queue("convert_xml")
    assert 600 < longer.soft_limit_seconds < longer.hard_limit_seconds


def test_an_empty_directory_setting_is_none_and_not_the_current_directory() -> None:
    settings = load_settings(UPLOADS_DIR="", RESULTS_DIR="")
    assert (settings.uploads_dir, settings.results_dir) == (None, None)
