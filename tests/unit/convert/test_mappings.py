"""Each mapping gives XML that its published schema accepts, over PDFs of others, and the same XML as ever over ours."""

from __future__ import annotations

import gzip
import io
from itertools import product

import pytest
from lxml import etree
from tests.unit.convert.published_schemas import SCHEMAS, published_schema
from tests.unit.convert.samples import GOLDEN, INVOICES, NAMES, mapped, sample
from tests.unit.convert.wrong_mappings import WRONG

from quire.convert.domain.xml_mapping import ResultInvalidError
from quire.convert.infrastructure.mappings import MAPPINGS, alto
from quire.convert.infrastructure.mappings.mapping import Source
from quire.convert.infrastructure.mappings.sample_pdf import OBJECTS, assembled

ALTO = "{http://www.loc.gov/standards/alto/ns-v4#}"
AKN = "{http://docs.oasis-open.org/legaldocml/ns/akn/3.0}"
TEI = "{http://www.tei-c.org/ns/1.0}"


@pytest.mark.parametrize(
    ("mapping", "name"),
    [*product(("alto", "tei", "akn"), NAMES), *product(("facturx", "ubl-invoice"), INVOICES)],
)
def test_what_a_mapping_writes_is_valid_by_its_schema(mapping: str, name: str) -> None:
    """By the published file itself, whatever the mapping has checked."""
    schema = published_schema(mapping)
    assert schema.validate(etree.fromstring(mapped(mapping, sample(name)))), schema.error_log


@pytest.mark.parametrize("name", WRONG)
def test_xml_that_its_schema_refuses_does_not_leave_the_mapping(name: str) -> None:
    pdf = sample("invoice-zugferd-small")
    with pytest.raises(ResultInvalidError) as refusal:
        WRONG[name].checked(Source(pdf, len(pdf), 1000))
    assert refusal.value.code == "RESULT_NOT_VALID"


@pytest.mark.parametrize(
    ("mapping", "name"),
    [
        ("alto", "own-contract-en"),
        ("tei", "own-law-ru"),
        ("tei", "own-contract-en"),
        ("akn", "own-law-ru"),
        ("akn", "own-contract-en"),
        ("tei", "own-agreement-en"),
        ("akn", "own-agreement-en"),
        ("tei", "own-agreement-ru"),
        ("akn", "own-agreement-ru"),
    ],
)
def test_golden_files_stay_as_they_are(mapping: str, name: str) -> None:
    """When a mapping's output changes on purpose, so does its version, and then these files."""
    assert mapped(mapping, sample(name)) == (GOLDEN / f"{name}.{mapping}.xml").read_bytes()


def test_a_schema_refuses_what_does_not_belong_in_its_documents() -> None:
    for mapping, known, wrong in (
        ("alto", b"<Layout>", b"<Layout><Leaf/>"),
        ("tei", b"<body>", b"<body><leaf/>"),
        ("akn", b"<body>", b"<body><leaf/>"),
    ):
        xml = mapped(mapping, sample("own-law-ru"))
        assert known in xml
        broken = etree.fromstring(xml.replace(known, wrong))
        schema = MAPPINGS[mapping].schema or alto.SCHEMA
        assert not schema.validator.validate(broken)


def test_tei_is_valid_by_the_whole_published_schema_and_not_only_by_our_part_of_it() -> None:
    whole = gzip.decompress((SCHEMAS / "tei" / "tei_all.rng.gz").read_bytes())
    validator = etree.RelaxNG(etree.fromstring(whole))
    for name in ("own-law-ru", "texshop", "zoo-design"):
        assert validator.validate(etree.fromstring(mapped("tei", sample(name)))), validator.error_log


@pytest.mark.parametrize("shares", [2, 3, 7])
def test_alto_of_shares_joined_is_alto_of_the_whole(shares: int) -> None:
    pdf = sample("zoo-read")
    parts = [io.BytesIO(mapped("alto", pdf, share=share, shares=shares)) for share in range(shares)]
    with alto.join(list(parts)) as file:
        assert file.read() == mapped("alto", pdf)


def test_shares_with_millions_of_bytes_of_styles_are_joined_whole() -> None:
    """As a file with thousands of fonts makes them."""
    style = b'<TextStyle ID="S%d" FONTFAMILY="' + b"&amp;" * 300 + b'" FONTSIZE="9"/>\n'
    styles = b"".join(style % number for number in range(4000))
    pages = [b'<Page ID="P%d" PHYSICAL_IMG_NR="%d"></Page>\n' % (n, n) for n in (1, 2)]
    head, between, foot = alto.HEAD.encode(), alto.BETWEEN.encode(), alto.FOOT.encode()
    parts = [io.BytesIO(head + styles + between + page + foot) for page in pages]
    with alto.join(list(parts)) as file:
        assert file.read() == head + styles + between + b"".join(pages) + foot


def test_a_space_stands_between_two_words_of_a_line_in_alto() -> None:
    root = alto.SCHEMA.check(mapped("alto", sample("fhs")))
    lines = list(root.iter(f"{ALTO}TextLine"))
    assert len(lines) > 1000
    for line in lines:
        parts = [node for node in line if node.tag != f"{ALTO}HYP"]
        assert [node.tag for node in parts[1::2]] == [f"{ALTO}SP"] * (len(parts) // 2)
        assert [node.tag for node in parts[::2]] == [f"{ALTO}String"] * (len(parts) // 2 + 1)
        for before, space, after in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            assert int(space.get("HPOS", "")) == int(before.get("HPOS", "")) + int(before.get("WIDTH", ""))
            gap = int(after.get("HPOS", "")) - int(space.get("HPOS", ""))
            assert int(space.get("WIDTH", "")) == max(0, gap)


def test_a_word_broken_over_two_lines_is_told_whole_in_alto() -> None:
    root = alto.SCHEMA.check(mapped("alto", sample("debian-faq-ru")))
    halves = [node for node in root.iter(f"{ALTO}String") if node.get("SUBS_TYPE")]
    first, second = halves[:2]
    assert (first.get("SUBS_TYPE"), second.get("SUBS_TYPE")) == ("HypPart1", "HypPart2")
    assert (
        first.get("SUBS_CONTENT")
        == second.get("SUBS_CONTENT")
        == first.get("CONTENT") + second.get("CONTENT")
    )


def test_a_word_broken_over_three_lines_is_told_whole_in_each_of_them() -> None:
    drawn = b"BT /F1 11 Tf 14 TL 72 700 Td (so a long donau-) Tj T* (dampf-) Tj T* (schiff) Tj ET"
    content = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn)
    root = alto.SCHEMA.check(mapped("alto", assembled((*OBJECTS[:3], content))))
    halves = [node for node in root.iter(f"{ALTO}String") if node.get("SUBS_TYPE")]
    assert [(node.get("CONTENT"), node.get("SUBS_TYPE"), node.get("SUBS_CONTENT")) for node in halves] == [
        ("donau", "HypPart1", "donaudampfschiff"),
        ("dampf", "HypPart2", "donaudampfschiff"),
        ("schiff", "HypPart2", "donaudampfschiff"),
    ]


def test_running_titles_and_page_numbers_stand_apart_from_the_text_in_tei() -> None:
    root = MAPPINGS["tei"].schema.check(mapped("tei", sample("debian-faq-ru")))
    apart = {node.text for node in root.iter(f"{TEI}fw")}
    text = [node.text or "" for node in root.iter(f"{TEI}p", f"{TEI}head", f"{TEI}item")]
    assert "5" in apart
    assert any("ГЛАВА" in line for line in apart)
    assert not apart.intersection(text)
    assert len(list(root.iter(f"{TEI}pb"))) == 8


def test_a_table_of_contents_is_a_list_and_no_part_of_the_law() -> None:
    tei = MAPPINGS["tei"].schema.check(mapped("tei", sample("fhs")))
    (contents,) = [node for node in tei.iter(f"{TEI}list") if node.get("type") == "contents"]
    entries = [node.text for node in contents.iter(f"{TEI}item")]
    assert len(entries) == 160
    assert entries[1].startswith("1.1. Purpose ..")
    law = etree.fromstring(mapped("akn", sample("fhs")))
    assert [node.text for node in law.iter(f"{AKN}tocItem")] == entries
    pointed = {node.get("href", "").strip("#") for node in law.iter(f"{AKN}tocItem")} - {""}
    assert len(pointed) > 50
    assert pointed <= {node.get("eId") for node in law.iter()}
    assert not [node for node in law.iter(f"{AKN}p", f"{AKN}heading") if "....." in (node.text or "")]


def test_running_titles_are_no_part_of_the_law() -> None:
    tei = etree.fromstring(mapped("tei", sample("debian-faq-ru")))
    titles = {node.text for node in tei.iter(f"{TEI}fw")}
    assert "3.2. BUT WHAT ABOUT KNOPPIX, LINUX …" in titles
    law = etree.fromstring(mapped("akn", sample("debian-faq-ru")))
    assert not titles & {
        f"{node.findtext(f'{AKN}num')} {node.findtext(f'{AKN}heading')}" for node in law.iter()
    }
    assert not titles & {node.text for node in law.iter(f"{AKN}p", f"{AKN}heading")}


def test_a_page_that_begins_within_a_paragraph_begins_there_in_tei() -> None:
    text = mapped("tei", sample("invoice-zugferd")).decode()
    assert 'auf unten genanntes Konto zu <pb n="2"/>überweisen.</p>' in text
    assert text.count("<pb ") == 2


def test_the_tables_of_an_invoice_are_no_headings_in_tei_and_its_title_is() -> None:
    heads = {name: [node.text for node in etree.fromstring(mapped("tei", sample(name))).iter(f"{TEI}head")]
             for name in INVOICES}  # fmt: skip
    assert heads["invoice-zugferd"] == heads["invoice-zugferd-small"] == ["Rechnung"]
    # Of some fifty bold cells.
    assert 0 < len(heads["invoice-factur-x"]) < 10
    assert not {"S", "E", "PCE 1,00", "Remise (-)", "(Net): 7,00"} & set(heads["invoice-factur-x"])
