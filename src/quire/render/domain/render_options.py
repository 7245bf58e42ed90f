"""What a caller may choose about a document. All of it becomes CSS or PDF metadata; print arguments never vary."""

from __future__ import annotations

from dataclasses import dataclass

PAPERS = {
    "A3": "297mm 420mm",
    "A4": "210mm 297mm",
    "A5": "148mm 210mm",
    "Letter": "8.5in 11in",
    "Legal": "8.5in 14in",
}


@dataclass(frozen=True, slots=True)
class RenderOptions:
    paper: str | None = None
    landscape: bool | None = None
    header: str | None = None
    footer: str | None = None
    title: str | None = None
    author: str | None = None
    subject: str | None = None
    keywords: str | None = None
    tagged: bool = False
    outline: bool = False


def page_css(options: RenderOptions, paper: str, landscape: bool, margin: str) -> str:
    """The `@page` rule. Header and footer texts are CSS strings, so no markup of theirs is ever parsed."""
    size = PAPERS[options.paper or paper]
    if options.landscape if options.landscape is not None else landscape:
        size = " ".join(reversed(size.split()))
    header = f"@top-center{{content:{css_string(options.header)}}}" if options.header else ""
    footer = f"@bottom-center{{content:{css_string(options.footer)}}}" if options.footer else ""
    return f"@page{{size:{size};margin:{margin};{header}{footer}}}"


def css_string(text: str | None) -> str:
    """Every character that could end the string or the style element is written as its number, with the one space
    that ends an escape: without it the text's own next space would be taken for it."""
    escaped = "".join(c if c.isalnum() or c in " .,:-" else f"\\{ord(c):06x} " for c in text or "")
    return f'"{escaped}"'
