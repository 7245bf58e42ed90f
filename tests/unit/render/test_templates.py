"""The shipped packs: whole, in three languages, closed to hostile values, refusing what does not add up."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.render.packs import (
    LANGUAGES,
    NAMES,
    ROOT,
    STORE,
    filled,
    invoice_of,
    many_lines,
    pack_of,
    payload,
)

from quire.render.domain.page_document import page_document, raw_document
from quire.render.domain.render_options import RenderOptions
from quire.render.domain.template_pack import Manifest
from quire.render.infrastructure.filesystem.template_store import FolderTemplateStore
from quire.render.infrastructure.jinja.child import compiled, fill
from quire.render.infrastructure.jinja.filters import agree, css, figure, iban, money, percent, qr, ticks
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder

BUNDLED = {"Inter", "Source Serif 4", "JetBrains Mono"}
HOSTILE = """x"';}</style><script>alert(1)</script><img src=//evil.example>{{ 77777*7 }}"""
FORMAL = re.compile(
    r"^(data:|https:|#|[0-9]{4}-[0-9]{2}-[0-9]{2}$|[0-9]{2}:|[A-Z0-9]{1,3}$|[A-Z]{2}[0-9]{2})|^[a-z_0-9]+$"
)
every_pack = pytest.mark.parametrize("name", NAMES)
every_language = pytest.mark.parametrize("language", LANGUAGES)


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def complaints(name: str, data: object) -> list[str]:
    validator = jsonschema.Draft202012Validator(pack_of(name).schema)
    return [error.json_path for error in validator.iter_errors(data)]


def document(name: str, data: dict[str, Any], options: RenderOptions | None = None) -> str:
    return page_document(filled(name, data), pack_of(name), options or RenderOptions())


def poisoned(value: Any) -> Any:
    """Every free text of a payload replaced; what a schema holds to a form stays."""
    formal = re.compile(
        r"^(data:|https:|#|[0-9]{4}-[0-9]{2}-[0-9]{2}$|[0-9]{2}:|[A-Z0-9]{1,3}$|[A-Z]{2}[0-9]{2})|^[a-z_0-9]+$"
    )
    if isinstance(value, str):
        return value if formal.search(value) else HOSTILE
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    if isinstance(value, dict):
        return {key: poisoned(item) for key, item in value.items()}
    return value


@every_pack
@every_language
def test_pack_fills_its_sample_in_every_language(name: str, language: str) -> None:
    data = payload(name, language)
    assert complaints(name, data) == []
    html = document(name, data)
    assert f'<html lang="{language}"' in html
    assert "<title>" in html


@every_pack
def test_labels_are_the_same_set_in_every_language(name: str) -> None:
    words = compiled(pack_of(name).source).make_module(payload(name)).words  # type: ignore[attr-defined]
    assert set(words) == set(LANGUAGES)
    assert len({frozenset(labels) for labels in words.values()}) == 1
    assert all(label for labels in words.values() for label in labels.values())


@every_pack
def test_hostile_values_stay_text(name: str) -> None:
    data = poisoned(payload(name))
    clean, dirty = Tags(document(name, payload(name))), Tags(document(name, data))
    assert not any(tag == "script" for tag, _ in dirty.found)
    assert {tag for tag, _ in dirty.found} <= {tag for tag, _ in clean.found}
    assert "//evil.example" not in json.dumps([attrs.get("src") for _, attrs in dirty.found])
    assert str(77777 * 7) not in document(name, data)


@every_pack
@every_language
def test_document_asks_for_nothing_outside_itself(name: str, language: str) -> None:
    html = document(name, payload(name, language))
    links = [value for _, attrs in Tags(html).found for key, value in attrs.items() if key in ("src", "href")]
    assert all(link is not None and link.startswith(("data:", "#")) for link in links)
    assert "url(" not in html
    assert "@import" not in html


@every_pack
def test_only_bundled_fonts_are_named(name: str) -> None:
    sheet = pack_of(name).assets["style.css"][0].decode()
    named = re.findall(
        r"font(?:-family)?:[^;}]*?(?:pt|px|/[\d.]+|:)\s*(\"[^\"]+\"|[A-Z]\w+)[^;}]*[;}]", sheet
    )
    assert named
    assert {family.strip('"') for family in named} <= BUNDLED


@every_pack
def test_schema_refuses_unknown_and_missing_fields(name: str) -> None:
    data = payload(name)
    assert complaints(name, data | {"surprise": 1}) == ["$"]
    for field in pack_of(name).schema["required"]:  # type: ignore[attr-defined]
        assert complaints(name, {key: value for key, value in data.items() if key != field})


@pytest.mark.parametrize(
    ("field", "value"),
    [("currency", "euro"), ("issued_on", "16.11.2026"), ("brand", {"accent": "red;}"}), ("lines", [])],
)
def test_schema_refuses_values_out_of_form(field: str, value: object) -> None:
    assert complaints("invoice", payload("invoice") | {field: value})


def test_money_is_never_a_fraction() -> None:
    data = payload("invoice")
    data["totals"]["due_minor"] = 12.5
    assert complaints("invoice", data) == ["$.totals.due_minor"]


@pytest.mark.parametrize("total", ["lines_minor", "net_minor", "tax_minor", "gross_minor", "due_minor"])
def test_invoice_that_does_not_add_up_is_refused_at_its_pointer(total: str) -> None:
    data = payload("invoice")
    data["totals"][total] += 1
    with pytest.raises(ValueError, match=f"/totals/{total} is"):
        filled("invoice", data)


def test_statement_whose_closing_balance_does_not_follow_is_refused() -> None:
    data = payload("statement")
    with pytest.raises(ValueError, match="/closing_minor is"):
        filled("statement", data | {"closing_minor": data["closing_minor"] - 1})


def test_receipt_that_does_not_add_up_is_refused() -> None:
    data = payload("receipt")
    data["totals"]["total_minor"] += 1
    with pytest.raises(ValueError, match="/totals/total_minor is"):
        filled("receipt", data)


def test_invoice_with_nothing_optional_is_whole() -> None:
    data = invoice_of(many_lines(1))
    bare = {key: data[key] for key in pack_of("invoice").schema["required"]}  # type: ignore[attr-defined]
    html = document("invoice", bare)
    assert 'class="payment"' not in html
    assert 'class="notes"' not in html
    assert html.count('class="line"') == 1


def test_last_lines_and_totals_are_one_unbroken_group() -> None:
    html = filled("invoice", invoice_of(many_lines(120)))
    closing = html[html.index('<tbody class="closing">') :]
    assert html.count('class="line"') == 120
    assert closing.count('class="line"') == 2
    assert 'class="grand"' in closing


def test_credit_note_says_so_and_asks_for_no_payment_by_code() -> None:
    html = filled("invoice", payload("invoice") | {"kind": "credit_note"})
    assert "<h1>Credit note" in html
    assert 'class="scan"' not in html


def test_statement_without_entries_says_so() -> None:
    assert "За период операций не было." in filled("statement", payload("statement", "ru"))


def test_draft_contract_carries_a_watermark_and_a_final_one_does_not() -> None:
    assert 'class="watermark"' in filled("contract", payload("contract", "tr"))
    assert 'class="watermark"' not in filled("contract", payload("contract"))


async def test_packs_fill_in_the_confined_process_too() -> None:
    builder = JinjaHtmlBuilder()
    try:
        for name in NAMES:
            for language in LANGUAGES:
                data = payload(name, language)
                assert await builder.build(pack_of(name), data, 30.0) == filled(name, data)
    finally:
        await builder.close()


def test_page_rule_comes_before_pack_style_before_template_style() -> None:
    html = document("invoice", payload("invoice"), RenderOptions(paper="A5", header="Copy"))
    page, sheet, own = (html.index(text) for text in ("size:148mm 210mm", ".masthead", "@page :first"))
    assert page < sheet < own
    assert '@top-center{content:"Copy"}' in html


def test_metadata_of_the_caller_replaces_the_templates_title() -> None:
    html = document("invoice", payload("invoice"), RenderOptions(title="A <b>", author='"me"'))
    assert re.findall(r"<title>(.*?)</title>", html) == ["A &lt;b&gt;"]
    assert '<meta name="author" content="&quot;me&quot;">' in html


def test_fragment_of_raw_html_gets_a_head() -> None:
    html = raw_document("<p>Hello", Manifest("Raw", "HTML of the caller's own"), RenderOptions())
    assert html.startswith('<!doctype html><html><head><meta charset="utf-8"><style>')
    assert "@page{size:210mm 297mm" in html
    assert "<body><p>Hello</body>" in html


def test_pictures_of_a_pack_travel_inside_the_document(tmp_path: Path) -> None:
    folder = tmp_path / "card" / "1.0"
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text("title: Card\ndescription: A card\n")
    (folder / "schema.json").write_text("{}")
    (folder / "sample.json").write_text("{}")
    (folder / "logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "template.html").write_text('<html><head></head><body><img src="logo.svg"></body></html>')
    pack = FolderTemplateStore([tmp_path], ["card"]).pack("card")
    html = page_document(fill({"source": pack.source, "data": {}}), pack, RenderOptions())
    assert '<img src="data:image/svg+xml;base64,' in html


def test_guide_builds_a_pack_as_written(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "templates.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w+ (letter/\S+)\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    assert {Path(path).name for path, _ in blocks} >= {"manifest.yaml", "template.html", "schema.json"}
    for path, text in blocks:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    pack = FolderTemplateStore([ROOT / "templates", tmp_path], ["letter"]).pack("letter")
    jsonschema.Draft202012Validator(pack.schema).validate(pack.sample)
    html = page_document(fill({"source": pack.source, "data": pack.sample}), pack, RenderOptions())
    assert "€1,250.00" in html
    assert "November 16, 2026" in html


def test_guide_names_every_filter_and_pack() -> None:
    guide = (ROOT / "docs" / "guides" / "templates.md").read_text(encoding="utf-8")
    from quire.render.infrastructure.jinja.filters import FILTERS

    assert all(f"`{name}`" in guide for name in (*FILTERS, *STORE.names()))


def test_amounts_read_as_each_language_writes_them() -> None:
    assert [money(-123456, "EUR", language) for language in LANGUAGES] == [
        "−€1,234.56",
        "−€1.234,56",
        "−1\xa0234,56\xa0€",
    ]
    assert figure(5, "JPY") == "5"
    assert [percent(8.25, language) for language in LANGUAGES] == ["8.25%", "%8,25", "8,25\xa0%"]


def test_money_refuses_what_is_not_whole() -> None:
    for wrong in (1.5, True, "100"):
        with pytest.raises(ValueError, match="whole minor units"):
            money(wrong, "EUR")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("largest", "last"), [(0, 1), (97, 100), (100, 100), (1_234_567, 1_250_000), (0.07, 0.08)]
)
def test_chart_scale_reaches_its_largest_value(largest: float, last: float) -> None:
    scale = ticks(largest)
    assert scale[0] == 0
    assert scale[-1] == last
    assert len(scale) <= 7


def test_css_string_cannot_end_its_style() -> None:
    assert "<" not in css("</style>")
    assert css('a" b') == '"a\\000022  b"'


def test_names_in_running_lines_are_cut_and_not_escaped_twice() -> None:
    data = payload("invoice")
    data["seller"]["name"] = "Finch & Sons <Ltd> " + "x" * 180
    style = re.findall(r"@(?:top|bottom)-left \{ content: (\".*?); \}", filled("invoice", data))
    assert all("Finch \\000026  Sons \\00003c Ltd\\00003e  x" in text for text in style)
    assert len(style) == 2
    assert all(text.endswith('\\002026 "') for text in style)


def test_qr_code_holds_no_markup_of_its_text() -> None:
    drawing = qr("<script>Ж")
    assert drawing.startswith("<svg")
    assert "script" not in drawing
    with pytest.raises(ValueError, match="at most"):
        qr("x" * 1001)


def test_iban_is_grouped_and_totals_agree() -> None:
    assert iban("DE02 120300000000202051") == "DE02 1203 0000 0000 2020 51"
    assert agree(5, 5, "/x") == 5
