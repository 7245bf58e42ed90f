"""PDFs that mean no good, sent to a real gateway: each is refused by its name, or read for what it is and no more, in
its time and memory; and the gateway goes on. Made here, of `tests/integration/hostile/`."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest
from tests.support.gateway_server import (
    LIMITS,
    MEMORY_BYTES,
    WALL_SECONDS,
    GatewayServer,
    running_gateway,
    wait_until,
)
from tests.support.hostile import actions, attachments, bombs, locks, pages, structures, texts
from tests.unit.convert.small_invoice import an_invoice

from quire.convert.infrastructure.mappings.sample_pdf import sample_pdf

Make = Callable[[], bytes]

# Far less than a child may take: nothing of a document passes through the gateway's own memory.
GATEWAY_BYTES = 400 * 1024 * 1024
# What a child shares with the process it was forked from counts as its own.
SHARED_BYTES = 160 * 1024 * 1024
A4, LETTER = (595, 842), (612, 792)
# What a hostile page asks for and nobody may be told.
TAKEN = (b"root:", b"attacker.example", b"taken", b"passwd", b"alert", b"zipped", b"inner")


class Refused(NamedTuple):
    make: Make
    status: int
    code: str
    words: str = ""
    mapping: str = "alto"


class Read(NamedTuple):
    make: Make
    words: str = "Read me"
    size: tuple[int, int] = A4
    pages: int = 1
    confidence: str = "1"


REFUSED = (
    Refused(structures.nothing, 400, "MALFORMED_REQUEST", "`file` is empty"),
    Refused(structures.not_a_pdf, 415, "NOT_A_PDF"),
    Refused(structures.header_alone, 422, "PDF_DAMAGED"),
    Refused(structures.noise, 422, "PDF_DAMAGED"),
    Refused(structures.truncated, 422, "PDF_DAMAGED", "its end is missing"),
    Refused(structures.damaged_table, 422, "PDF_DAMAGED", "what it calls its pages are none"),
    Refused(
        structures.circular_catalog, 422, "PDF_DAMAGED", "what it calls its pages are none", mapping="tei"
    ),
    Refused(structures.circular_pages, 422, "PDF_DAMAGED", "page 1 cannot be loaded"),
    Refused(structures.deep_page_tree, 422, "PDF_DAMAGED", "page 1 cannot be loaded"),
    Refused(structures.doubling_page_tree, 422, "PDF_DAMAGED", "page 1 cannot be followed"),
    Refused(structures.circular_contents, 422, "PDF_DAMAGED", "its contents are none"),
    Refused(structures.without_pages, 422, "PDF_WITHOUT_PAGES"),
    Refused(structures.real_pages, 413, "PDF_TOO_MANY_PAGES", "this has 100000"),
    Refused(structures.form_in_itself, 413, "READING_TOO_COSTLY"),
    Refused(structures.bomb_as_store, 413, "READING_TOO_COSTLY", "more memory"),
    Refused(locks.locked_for_all, 422, "PDF_ENCRYPTED", "opens with a password only"),
    Refused(locks.locked_by_certificate, 422, "PDF_ENCRYPTED", "opens with a certificate", mapping="tei"),
    Refused(locks.locked_in_no_known_way, 422, "PDF_ENCRYPTED"),
    Refused(bombs.flate_bomb, 413, "READING_TOO_COSTLY", "more memory", mapping="tei"),
    Refused(bombs.nested_flate_bomb, 413, "READING_TOO_COSTLY", "more memory"),
    Refused(bombs.lzw_bomb, 413, "READING_TOO_COSTLY", "more memory"),
    Refused(bombs.ascii85_bomb, 413, "READING_TOO_COSTLY", "more memory"),
    Refused(bombs.run_length_bomb, 413, "READING_TOO_COSTLY", "more memory"),
    Refused(bombs.run_length_page, 413, "READING_TOO_COSTLY", "more than 16777216 bytes"),
    Refused(bombs.predictor_bomb, 422, "PDF_DAMAGED", "page 1 cannot be unpacked, its bytes are damaged"),
    Refused(bombs.predictor_bomb_behind_text, 422, "PDF_DAMAGED", "its bytes are damaged", mapping="akn"),
    Refused(bombs.predictor_bomb_in_form, 422, "PDF_DAMAGED", "its bytes are damaged", mapping="tei"),
    Refused(bombs.picture_as_text, 422, "PDF_DAMAGED", "it is packed by JBIG2Decode, which is not read here"),
    Refused(bombs.filter_chain_of_thousands, 422, "PDF_DAMAGED", "it is packed 100000 times over"),
    Refused(bombs.filters_of_no_name, 422, "PDF_DAMAGED", "it does not say how it is packed"),
    Refused(bombs.filter_of_no_one, 422, "PDF_DAMAGED", "it is packed by Nonsense"),
    Refused(structures.half_a_page, 422, "PDF_DAMAGED", "page 1 cannot be unpacked, its bytes end too early"),
    Refused(structures.damaged_half_a_page, 422, "PDF_DAMAGED", "its bytes are damaged"),
    Refused(structures.page_with_wrong_checksum, 422, "PDF_DAMAGED", "its bytes are damaged"),
    Refused(structures.half_a_page_inside_a_whole_one, 422, "PDF_DAMAGED", "its bytes end too early"),
    Refused(structures.hex_without_end, 422, "PDF_DAMAGED", "its bytes end too early"),
    Refused(structures.contents_in_part_not_there, 422, "PDF_DAMAGED", "its contents are none"),
    Refused(structures.contents_at_another_place, 422, "PDF_DAMAGED", "not where the file has it"),
    Refused(structures.letters_whose_meaning_is_lost, 422, "PDF_DAMAGED", "its bytes end too early"),
    Refused(
        structures.unpacked_only_by_others, 422, "PDF_DAMAGED", "packed by Crypt, which is not read here"
    ),
    Refused(structures.change_cut_off, 422, "PDF_DAMAGED", "its end is missing"),
    Refused(bombs.repeated_contents, 413, "READING_TOO_COSTLY", "more memory"),
    Refused(bombs.laughing_forms, 413, "READING_TOO_COSTLY", mapping="tei"),
    Refused(bombs.endless_text, 413, "READING_TOO_COSTLY", mapping="tei"),
    Refused(texts.long_characters, 413, "READING_TOO_COSTLY", "more memory"),
)
# What a page draws is all there; its pictures are not looked at.
READ = (
    Read(locks.locked_for_changes, "Part 1. General Article 1. Words broken by a hy phen"),
    Read(locks.signed, "Signed words"),
    Read(structures.claimed_pages),
    Read(structures.circular_length),
    Read(structures.page_without_checksum),
    Read(structures.contents_that_are_not_there, ""),
    Read(structures.contents_of_no_bytes, ""),
    Read(structures.circular_tables),
    Read(structures.circular_table_streams),
    Read(structures.store_in_itself),
    Read(structures.deep_arrays),
    Read(structures.deep_operands),
    Read(structures.with_archive_behind),
    Read(structures.with_archive_around),
    Read(structures.with_page_of_html_before),
    Read(bombs.filter_chain),
    Read(bombs.huge_image),
    Read(bombs.huge_inline_image),
    Read(bombs.absurd_jbig2),
    Read(pages.huge_box, size=LETTER),
    Read(pages.endless_box, size=LETTER),
    Read(pages.reversed_box),
    Read(pages.box_with_exponents, size=LETTER),
    Read(pages.box_of_no_numbers, size=LETTER),
    Read(pages.box_without_area, size=LETTER),
    Read(pages.box_with_huge_unit),
    Read(pages.blank_pages, "", pages=2),
    Read(pages.turned_by_45),
    Read(pages.turned_by_minus_90, size=(842, 595)),
    Read(pages.turned_by_450, size=(842, 595)),
    Read(pages.turned_without_end),
    Read(texts.text_of_no_character, "\ufffd" * 4 + " " + "\ufffd" * 2, confidence="0"),
    Read(texts.text_of_private_characters, "\ue052\ue065\ue061\ue064 \ue06d\ue065", confidence="0"),
    Read(texts.text_of_commands, "d \ufffd", confidence="0 1"),
    Read(texts.text_of_glyph_names, "GLYPH&lt;12&gt;GLYPH&lt;cmap:df00&gt;"),
    Read(texts.endless_character_map, "¦¢¥a®¦"),
    Read(texts.invisible_text, "Seen unseen"),
    Read(texts.character_map_elsewhere, "A B Read me"),
    Read(texts.font_that_draws_itself, "AAAA"),
    Read(texts.font_with_huge_widths, "Read m"),
    Read(texts.font_with_endless_widths, "AB"),
    Read(texts.thousands_of_lines, "left right"),
    Read(actions.script),
    Read(actions.launched_program),
    Read(actions.submitted_form),
    Read(actions.called_address),
    Read(actions.other_file),
    Read(actions.embedded_file),
    Read(actions.circular_actions),
    Read(actions.form_with_entities),
    Read(actions.metadata_with_entities),
    Read(attachments.program),
    Read(attachments.portfolio),
    Read(attachments.circular_names),
)
NO_INVOICE, INVALID, COSTLY = "NO_EMBEDDED_INVOICE", "EMBEDDED_INVOICE_INVALID", "READING_TOO_COSTLY"
INVOICES = (
    Refused(structures.without_pages, 422, "PDF_WITHOUT_PAGES"),
    Refused(attachments.program, 422, NO_INVOICE, "only invoice.pdf.exe"),
    Refused(attachments.portfolio, 422, NO_INVOICE, "only inner.pdf"),
    Refused(attachments.circular_names, 422, NO_INVOICE, "nor any other file"),
    Refused(attachments.thousands_of_files, 422, NO_INVOICE, "and 99996 more"),
    Refused(attachments.lost_invoice, 422, "PDF_DAMAGED", "a file attached to it cannot be read"),
    Refused(attachments.altered_invoice, 422, "PDF_DAMAGED", "the attached file cannot be unpacked"),
    Refused(attachments.bomb_as_invoice, 413, COSTLY, "more memory"),
    Refused(attachments.large_invoice, 413, COSTLY, "has more than 67108864 bytes"),
    Refused(attachments.wide_invoice, 413, COSTLY, "more memory"),
    Refused(attachments.empty_invoice, 422, INVALID, "not well-formed"),
    Refused(attachments.unfinished_invoice, 422, INVALID, "not well-formed"),
    Refused(attachments.deep_invoice, 422, INVALID, "Excessive depth"),
    Refused(attachments.invoice_of_attributes, 422, INVALID, "its root is not"),
    Refused(attachments.invoice_with_document_type, 422, INVALID, "declares a document type"),
    Refused(attachments.invoice_with_file_of_ours, 422, INVALID, "declares a document type"),
    Refused(attachments.invoice_with_trap_for_others, 422, INVALID, "declares a document type"),
    Refused(attachments.invoice_with_outer_type, 422, INVALID, "declares a document type"),
    Refused(attachments.invoice_with_laughs, 422, INVALID, "entity amplification"),
    Refused(attachments.invoice_with_laughs_in_attribute, 422, INVALID, "entity amplification"),
)
UBL_INVOICES = (
    Refused(attachments.large_invoice, 413, COSTLY, "has more than 67108864 bytes"),
    Refused(attachments.long_invoice, 413, COSTLY, "more memory"),
    Refused(attachments.deep_invoice, 422, INVALID, "Excessive depth"),
    Refused(attachments.invoice_with_file_of_ours, 422, INVALID, "declares a document type"),
    Refused(attachments.invoice_with_laughs_in_attribute, 422, INVALID, "entity amplification"),
)
CROWDED = (
    (texts.scattered_words, 4000),
    (texts.pairs_of_lines, 4000),
    (texts.words_among_lines, 499),
)


def name_of(value: object) -> str | None:
    make = value.make if isinstance(value, Refused | Read) else value
    return getattr(make, "__name__", None)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    with running_gateway(tmp_path_factory.mktemp("hostile"), **LIMITS) as server:
        yield server


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_a_hostile_pdf_is_refused_by_its_name_within_the_limits(
    gateway: GatewayServer, case: Refused
) -> None:
    _assert_refused(_sent(gateway, case.make(), case.mapping), case)
    _assert_unharmed(gateway)


@pytest.mark.parametrize("case", INVOICES, ids=name_of)
def test_a_hostile_attachment_is_refused_by_its_name_within_the_limits(
    gateway: GatewayServer, case: Refused
) -> None:
    _assert_refused(_sent(gateway, case.make(), "facturx"), case)
    _assert_unharmed(gateway)


@pytest.mark.parametrize("case", UBL_INVOICES, ids=name_of)
def test_a_hostile_invoice_is_refused_by_its_name_in_its_other_form_too(
    gateway: GatewayServer, case: Refused
) -> None:
    _assert_refused(_sent(gateway, case.make(), "ubl-invoice"), case)
    _assert_unharmed(gateway)


def test_an_invoice_is_read_whatever_lies_beside_it(gateway: GatewayServer) -> None:
    assert _sent(gateway, attachments.bombs_beside_invoice(), "facturx").content == an_invoice()
    _assert_unharmed(gateway)


@pytest.mark.parametrize("case", READ, ids=name_of)
def test_an_odd_pdf_is_read_for_what_it_is_and_no_more(gateway: GatewayServer, case: Read) -> None:
    pdf = case.make()
    alto, tei, akn = (_sent(gateway, pdf, mapping) for mapping in ("alto", "tei", "akn"))
    assert [answer.status_code for answer in (alto, tei, akn)] == [200, 200, 200]
    assert " ".join(re.findall(r'<String CONTENT="([^"]*)"', alto.text)) == case.words
    found = sorted(set(re.findall(r' WC="([^"]*)"', alto.text)))
    assert found == (case.confidence.split() if case.words else [])
    width, height = (round(points * 1200 / 72) for points in case.size)
    assert alto.text.count(f'HEIGHT="{height}" WIDTH="{width}">\n<PrintSpace') == case.pages
    told = re.sub("<[^>]*>", " ", tei.text.partition("</teiHeader>")[2])
    assert told.split() == case.words.replace("hy phen", "hyphen").split()
    assert not [secret for secret in TAKEN if secret in akn.content]
    _assert_unharmed(gateway)


@pytest.mark.parametrize(("make", "words"), CROWDED, ids=name_of)
def test_a_crowded_page_is_read_whole_within_the_limits(
    gateway: GatewayServer, make: Make, words: int
) -> None:
    assert _sent(gateway, make(), "alto").text.count("<String ") == words
    assert _sent(gateway, make(), "tei").status_code == 200
    _assert_unharmed(gateway)


def _sent(gateway: GatewayServer, pdf: bytes, mapping: str) -> httpx.Response:
    """Answered in the time of one document, which is read in the memory of one."""
    done = threading.Event()
    peaks = [0]

    def watch() -> None:
        while not done.wait(0.02):
            peaks.append(gateway.reader_peak_bytes())

    watching = threading.Thread(target=watch)
    watching.start()
    began = time.monotonic()
    try:
        answer = gateway.process_pdf(pdf, mapping)
    finally:
        done.set()
        watching.join()
    assert time.monotonic() - began < WALL_SECONDS
    assert max(peaks) < SHARED_BYTES + MEMORY_BYTES
    return answer


def _assert_refused(answer: httpx.Response, case: Refused) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert (answer.status_code, said["error_code"], said["retryable"]) == (case.status, case.code, False)
    assert case.words in said["detail"]
    assert not [secret for secret in TAKEN if secret in answer.content.replace(b"inner.pdf", b"")]


def _assert_unharmed(gateway: GatewayServer) -> None:
    """One process under the gateway, none under that, little memory, and the next document is read."""
    (server,) = gateway.children()
    wait_until(lambda: not gateway.children(server))
    assert gateway.memory_bytes() < GATEWAY_BYTES
    assert gateway.http.get("/ready").status_code == 200
    assert gateway.process_pdf(sample_pdf()).status_code == 200
