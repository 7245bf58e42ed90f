"""What a caller chooses becomes a page rule and never more than that."""

from __future__ import annotations

import re
import string

import pytest

from quire.render.domain.render_options import PAPERS, RenderOptions, css_string, page_css


def rule(options: RenderOptions, *, landscape: bool = False) -> str:
    return page_css(options, "A4", landscape, "20mm")


def read_css_string(text: str) -> str:
    """As CSS reads it: `\\` and six hex digits are a character, and one space after them belongs to the escape."""
    assert text[0] == text[-1] == '"'
    return re.sub(r"\\([0-9a-f]{6}) ?", lambda found: chr(int(found[1], 16)), text[1:-1])


@pytest.mark.parametrize("paper", PAPERS)
def test_paper_names_its_size_and_lying_down_turns_it(paper: str) -> None:
    width, height = PAPERS[paper].split()
    assert f"size:{width} {height};" in rule(RenderOptions(paper=paper))
    assert f"size:{height} {width};" in rule(RenderOptions(paper=paper, landscape=True))


def test_caller_decides_over_the_template_how_the_page_lies() -> None:
    assert "size:297mm 210mm;" in rule(RenderOptions(), landscape=True)
    assert "size:210mm 297mm;" in rule(RenderOptions(landscape=False), landscape=True)


def test_without_header_and_footer_the_rule_has_none() -> None:
    assert rule(RenderOptions()) == "@page{size:210mm 297mm;margin:20mm;}"


@pytest.mark.parametrize(
    "text",
    [
        "Page — № 5, «Fatura» ₺",
        '"; } body { display: none } /*',
        "</style><script>alert(1)</script>",
        "a\\22 b\\",
        "line\nbreak\r\f\0 \u2028",
        "𝔘nicode 🧾 e\u0301",
        "digits after: \u20ac100 abc",
        string.printable,
    ],
)
def test_any_text_is_one_css_string_that_reads_as_itself(text: str) -> None:
    written = css_string(text)
    assert read_css_string(written) == text
    assert not set(written[1:-1]) & set("\"'<>{}();/*\n\r\f\0")


def test_header_and_footer_stand_in_their_margin_boxes() -> None:
    css = rule(RenderOptions(header="A", footer="B}"))
    assert '@top-center{content:"A"}' in css
    assert '@bottom-center{content:"B\\00007d "}' in css
