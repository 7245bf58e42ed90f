"""The document that goes to the printer: what a template gave, with its styles, its pictures, the caller's metadata and
the page rule. It needs no further file, so a preview and a fallback show the same as the print."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from html import escape

from quire.render.domain.render_options import RenderOptions, page_css
from quire.render.domain.template_pack import Manifest, TemplatePack

STYLESHEET = "style.css"
# Without it Chromium rounds every letter's width to whole screen pixels: uneven words, and gaps in copied text.
LETTER_SPACING = ":root{text-rendering:geometricPrecision}"
HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
HEAD_START = re.compile(r"<head[^>]*>", re.IGNORECASE)
TITLE = re.compile(r"<title[^>]*>.*?</title\s*>", re.IGNORECASE | re.DOTALL)
ASSET_URL = re.compile(r"""(\s(?:src|href)=)"([^"<>]{1,200})\"""")


def page_document(html: str, pack: TemplatePack, options: RenderOptions) -> str:
    """The page rule comes first, then the pack's `style.css`, then the template's own styles: Chromium orders `@page`
    rules by place alone, so a `:first` variant only holds when it stands after the plain rule."""
    sheet = pack.assets.get(STYLESHEET, (b"", ""))[0].decode()
    first = _opening(options, pack.manifest) + (f"<style>{_raw_text(sheet)}</style>" if sheet else "")
    return with_head(_with_pictures(_titled(html, options), pack.assets), first, _metadata(options))


def raw_document(html: str, manifest: Manifest, options: RenderOptions) -> str:
    """The same for HTML that came without a template."""
    return with_head(_titled(html, options), _opening(options, manifest), _metadata(options))


def with_head(html: str, first: str, last: str) -> str:
    """`first` opens the head, `last` closes it; a fragment gets a head of its own."""
    start, end = HEAD_START.search(html), HEAD_END.search(html)
    if start is None or end is None or end.start() < start.end():
        return f"<!doctype html><html><head>{first}{last}</head><body>{html}</body></html>"
    return html[: start.end()] + first + html[start.end() : end.start()] + last + html[end.start() :]


def _opening(options: RenderOptions, manifest: Manifest) -> str:
    rule = page_css(options, manifest.paper, manifest.landscape, manifest.margin)
    return f'<meta charset="utf-8"><style>{LETTER_SPACING}{rule}</style>'


def _titled(html: str, options: RenderOptions) -> str:
    """A title of the caller's replaces the template's: the browser takes the first."""
    return TITLE.sub("", html, count=1) if options.title else html


def _metadata(options: RenderOptions) -> str:
    title = f"<title>{escape(options.title)}</title>" if options.title else ""
    named = {"author": options.author, "description": options.subject, "keywords": options.keywords}
    return title + "".join(
        f'<meta name="{name}" content="{escape(value)}">' for name, value in named.items() if value
    )


def _with_pictures(html: str, assets: Mapping[str, tuple[bytes, str]]) -> str:
    def inlined(match: re.Match[str]) -> str:
        attribute, path = match.groups()
        if path not in assets:
            return match[0]
        data, content_type = assets[path]
        return f'{attribute}"data:{content_type};base64,{base64.b64encode(data).decode()}"'

    return ASSET_URL.sub(inlined, html)


def _raw_text(sheet: str) -> str:
    """A style element ends at `</`; CSS has no use for those two characters in a row outside strings."""
    return sheet.replace("</", "<\\/")
