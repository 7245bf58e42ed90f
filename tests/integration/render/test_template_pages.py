"""The shipped packs on paper: every language, short and long, through the real browser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import pytest
import pytest_asyncio
import zxingcpp
from pypdf import PdfReader
from tests.support.archive_rules import broken_rules
from tests.support.printing import complaints_of, fonts_of
from tests.unit.render.packs import (
    LANGUAGES,
    NAMES,
    Payload,
    filled,
    invoice_of,
    many_lines,
    pack_of,
    payload,
)

from quire.render.domain.page_document import page_document
from quire.render.domain.pdf_metadata import document_metadata, with_metadata
from quire.render.domain.render_options import RenderOptions
from quire.render.infrastructure.chromium import ChromiumPrinter
from quire.render.infrastructure.facturx.invoice_embedder import FacturxInvoiceEmbedder
from quire.render.ports.v1.page_printer import PrintedPdf, PrintRequest

pytestmark = pytest.mark.asyncio(loop_scope="module")
BUNDLED = re.compile(r"^[A-Z]{6}\+(Inter|SourceSerif4|JetBrainsMono)-")
# Four by four pixels, half transparent.
PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAYAAACp8Z5+AAAAEklEQVR4nGMQaPjQgIwZSB"
    "cAADKAIAFWNTw2AAAAAElFTkSuQmCC"
)
PAGE_LABELS = {"en": "Page {} of {}", "tr": "Sayfa {} / {}", "ru": "Страница {} из {}"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def printer() -> AsyncIterator[ChromiumPrinter]:
    printer = ChromiumPrinter()
    yield printer
    await printer.close()


async def printed(printer: ChromiumPrinter, name: str, data: Payload) -> PrintedPdf:
    html = page_document(filled(name, data), pack_of(name), RenderOptions())
    return await printer.print_pdf(PrintRequest(html=html, reuse_key="packs"))


def pages_of(pdf: bytes) -> list[str]:
    command = ["pdftotext", "-layout", "-", "-"]
    text = subprocess.run(command, input=pdf, capture_output=True, check=True).stdout.decode()
    return text.split("\f")[:-1]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", LANGUAGES)
async def test_pack_prints_in_every_language_with_bundled_fonts_alone(
    printer: ChromiumPrinter, name: str, language: str, tmp_path: Path
) -> None:
    result = await printed(printer, name, payload(name, language))
    fonts = fonts_of(result.data, tmp_path).splitlines()[2:]
    assert result.blocked_urls == ()
    assert fonts
    assert all(BUNDLED.match(font) for font in fonts)
    label = PAGE_LABELS[language].format(result.pages, result.pages)
    assert label in pages_of(result.data)[-1]


@pytest.mark.parametrize("name", ["invoice", "receipt", "statement"])
async def test_samples_of_everyday_papers_fit_one_page(printer: ChromiumPrinter, name: str) -> None:
    assert (await printed(printer, name, payload(name))).pages == 1


async def test_long_invoice_repeats_its_heading_and_numbers_its_pages(printer: ChromiumPrinter) -> None:
    pages = pages_of((await printed(printer, "invoice", invoice_of(many_lines(120)))).data)
    assert len(pages) > 4
    for number, page in enumerate(pages, 1):
        assert f"Page {number} of {len(pages)}" in page
        assert "Unit price" in page
    assert [page.count("Invoice 2026-0417") for page in pages] == [1] * len(pages)


@pytest.mark.parametrize("count", range(8, 17))
async def test_totals_never_stand_alone_on_a_page(printer: ChromiumPrinter, count: int) -> None:
    pages = pages_of((await printed(printer, "invoice", invoice_of(many_lines(count)))).data)
    (last,) = [page for page in pages if "Amount due" in page]
    assert f"Item number {count}" in last
    assert f"Item number {count - 1}" in last


async def test_signatures_share_their_page_with_the_last_article(printer: ChromiumPrinter) -> None:
    pages = pages_of((await printed(printer, "contract", payload("contract", "tr"))).data)
    (signed,) = [page for page in pages if "İmzalar" in page]
    assert "Uyuşmazlıkların çözümü" in signed


async def test_printed_e_invoice_is_sound_and_the_same_every_time(
    printer: ChromiumPrinter, tmp_path: Path
) -> None:
    data = payload("invoice")
    files = [
        FacturxInvoiceEmbedder().embed((await printed(printer, "invoice", data)).data, data, "en16931", "en")
        for _ in range(2)
    ]
    assert files[0] == files[1]
    assert broken_rules(files[0]) == []
    assert complaints_of(files[0], tmp_path) == ""
    assert pages_of(files[0]) == pages_of((await printed(printer, "invoice", data)).data)


async def test_invoice_with_pictures_links_and_many_pages_is_an_archive_file_too(
    printer: ChromiumPrinter,
) -> None:
    data = payload("invoice")
    html = page_document(filled("invoice", data), pack_of("invoice"), RenderOptions())
    extra = f'<a href="https://example.com/">terms</a><img src="{PICTURE}" style="opacity:0.5;width:5cm">'
    shadows = '<div style="box-shadow:0 0 9px #0008;filter:blur(2px);break-before:page">×</div>'
    request = PrintRequest(
        html=html.replace("</body>", extra + shadows + "</body>"), tagged=True, outline=True
    )
    pdf = (await printer.print_pdf(request)).data
    assert broken_rules(FacturxInvoiceEmbedder().embed(pdf, data, "en16931", "en")) == []


async def test_check_of_archive_rules_can_fail(printer: ChromiumPrinter) -> None:
    data = payload("invoice")
    plain = (await printed(printer, "invoice", data)).data
    missing = {"6.1.3 file identifier", "6.2.3 output intent", "6.6.4 version identification"}
    assert missing <= set(broken_rules(plain))
    whole = FacturxInvoiceEmbedder().embed(plain, data, "en16931", "en")
    assert broken_rules(whole.replace(b"/FontFile2", b"/FontFile9")) == ["6.2.11.4 font not embedded"]
    assert broken_rules(whole.replace(b"/AFRelationship", b"/AFRelationshap")) == ["6.8 file specification"]
    assert "6.2.10 blend mode" in broken_rules(whole.replace(b"/BM /Normal", b"/BM /Nicely"))


async def test_printed_payment_code_reads_as_its_text(printer: ChromiumPrinter) -> None:
    """In every language: other letters are other bytes in the code."""
    for language in ("en", "ru"):
        data = payload("invoice", language)
        pdf = (await printed(printer, "invoice", data)).data
        (code,) = zxingcpp.read_barcodes(scanned(pdf))
        text = code.bytes.decode()
        assert (
            text.startswith("BCD\n002\n1\nSCT\n") if language == "en" else text == data["payment"]["qr_text"]
        )


def scanned(pdf: bytes) -> memoryview:
    """The first page as a scanner sees it."""
    command = ["pdftoppm", "-r", "200", "-gray", "-singlefile", "-"]
    picture = subprocess.run(command, input=pdf, capture_output=True, check=True).stdout
    _, size, _, pixels = picture.split(b"\n", 3)
    width, height = map(int, size.split())
    return memoryview(pixels).cast("B", shape=[height, width])


async def test_author_and_keywords_of_a_document_reach_the_pdf(
    printer: ChromiumPrinter, tmp_path: Path
) -> None:
    options = RenderOptions(keywords="fatura, KDV) /Evil (x", subject="Ekim 2026")
    html = page_document(filled("invoice", payload("invoice", "tr")), pack_of("invoice"), options)
    for tagged in (False, True):
        bare = (await printer.print_pdf(PrintRequest(html=html, tagged=tagged))).data
        full = with_metadata(bare, document_metadata(html))
        metadata = PdfReader(BytesIO(full)).metadata
        assert metadata is not None
        assert metadata.author == payload("invoice", "tr")["seller"]["name"]
        assert (metadata.subject, metadata.keywords) == (options.subject, options.keywords)
        assert str(metadata.title).startswith("Fatura KIO2026000000391")
        assert full.startswith(bare)
        assert complaints_of(full, tmp_path) == ""
        assert pages_of(full) == pages_of(bare)
