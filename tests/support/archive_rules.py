"""The rules of PDF/A-3 level B (ISO 19005-3) that a file of printed pages can break, by clause.

No validator of the whole norm is to be had as a package; this one knows every kind of object that Chromium and the
e-invoice writer make, and complains about those it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject, StreamObject

FILTERS = {"/FlateDecode", "/DCTDecode", "/ASCIIHexDecode", "/ASCII85Decode"}
BLEND_MODES = {
    "/Normal",
    "/Compatible",
    "/Multiply",
    "/Screen",
    "/Overlay",
    "/Darken",
    "/Lighten",
    "/ColorDodge",
}
BLEND_MODES |= {"/ColorBurn", "/HardLight", "/SoftLight", "/Difference", "/Exclusion", "/Luminosity"}
ACTIONS = {"/GoTo", "/GoToR", "/URI"}
ANNOTATIONS = {"/Link"}
PRINTED, HIDDEN = 4, 1 | 2 | 32
HEAD = re.compile(rb"%PDF-1\.[0-7]\r?\n%[\x80-\xff]{4,}")


def broken_rules(pdf: bytes) -> list[str]:
    reader = PdfReader(BytesIO(pdf))
    found = [*_file(pdf, reader), *_catalog(reader), *_attachments(reader)]
    for one in _objects(reader):
        found += _dictionary(one)
        found += _stream(one) if isinstance(one, StreamObject) else ()
    return sorted(set(found))


def _file(pdf: bytes, reader: PdfReader) -> Iterator[str]:
    if not HEAD.match(pdf):
        yield "6.1.2 header"
    if len(reader.trailer.get("/ID", ())) != 2:
        yield "6.1.3 file identifier"
    if "/Encrypt" in reader.trailer:
        yield "6.1.3 encryption"
    if not pdf.rstrip().endswith(b"%%EOF"):
        yield "6.1.3 data behind the end"


def _catalog(reader: PdfReader) -> Iterator[str]:
    root = reader.root_object
    for key in (
        "/AA",
        "/OpenAction",
        "/OCProperties",
        "/AlternatePresentations",
        "/NeedsRendering",
        "/AcroForm",
    ):
        if key in root:
            yield f"6.5/6.9/6.10 {key} in the catalog"
    yield from _metadata(root)
    yield from _output_intent(root)


def _metadata(root: DictionaryObject) -> Iterator[str]:
    stream = root.get("/Metadata", DictionaryObject()).get_object()
    text = stream.get_data().decode() if isinstance(stream, StreamObject) else ""
    if not re.search(r"<pdfaid:part>3</pdfaid:part>\s*<pdfaid:conformance>B</pdfaid:conformance>", text):
        yield "6.6.4 version identification"
    if "/Filter" in stream or re.search(r"<\?xpacket begin[^>]*\b(bytes|encoding)=", text):
        yield "6.6.2.1 metadata stream"
    if "urn:factur-x" in text and "pdfaExtension:schemas" not in text:
        yield "6.6.2.3 extension schema"


def _output_intent(root: DictionaryObject) -> Iterator[str]:
    intents = [entry.get_object() for entry in root.get("/OutputIntents", ())]
    if [intent.get("/S") for intent in intents] != ["/GTS_PDFA1"]:
        yield "6.2.3 output intent"
        return
    profile = intents[0]["/DestOutputProfile"].get_object()
    data = profile.get_data()
    if (profile["/N"], data[12:16], data[16:20], data[36:40]) != (3, b"mntr", b"RGB ", b"acsp"):
        yield "6.2.3 colour profile"
    if int.from_bytes(data[:4]) != len(data) or data[8] > 4:
        yield "6.2.3 colour profile"


def _attachments(reader: PdfReader) -> Iterator[str]:
    root = reader.root_object
    associated = [entry.get_object() for entry in root.get("/AF", ())]
    tree = root.get("/Names", DictionaryObject()).get_object().get("/EmbeddedFiles", DictionaryObject())
    named = [entry.get_object() for entry in tree.get_object().get("/Names", ())[1::2]]
    if associated != named:
        yield "6.8 an embedded file without association"
    for file in associated:
        content = file["/EF"]["/F"].get_object()
        if not {"/F", "/UF", "/AFRelationship"} <= set(file) or "/Subtype" not in content:
            yield "6.8 file specification"
        if content["/Params"]["/Size"] != len(content.get_data()) or "/ModDate" not in content["/Params"]:
            yield "6.8 file parameters"


def _objects(reader: PdfReader) -> Iterator[DictionaryObject]:
    """Every dictionary and stream that can be reached."""
    seen: set[int] = set()
    waiting: list[Any] = [reader.trailer]
    while waiting:
        one = waiting.pop()
        if isinstance(one, IndirectObject):
            if one.idnum in seen:
                continue
            seen.add(one.idnum)
            one = one.get_object()
        if isinstance(one, DictionaryObject):
            yield one
            waiting += [one.raw_get(key) for key in one]
        elif isinstance(one, ArrayObject):
            waiting += list(one)


def _dictionary(one: DictionaryObject) -> Iterator[str]:
    yield from _font(one)
    yield from _graphics_state(one)
    if one.get("/Type") == "/Action" and one.get("/S") not in ACTIONS:
        yield f"6.5.1 action {one.get('/S')}"
    if {"/JS", "/AA", "/XFA"} & set(one):
        yield "6.5 script or additional actions"
    if one.get("/Type") == "/Annot":
        yield from _annotation(one)
    if one.get("/Interpolate") or {"/OPI", "/Alternates", "/PS", "/Ref"} & set(one):
        yield "6.2.8 image or form"
    if "/DeviceCMYK" in [str(one.get(key)) for key in ("/ColorSpace", "/CS")]:
        yield "6.2.4.3 colours of another device"


def _font(font: DictionaryObject) -> Iterator[str]:
    if font.get("/Type") == "/FontDescriptor" and not {"/FontFile", "/FontFile2", "/FontFile3"} & set(font):
        yield "6.2.11.4 font not embedded"
    if font.get("/Type") != "/Font":
        return
    if font["/Subtype"] not in ("/Type0", "/Type3") and "/FontDescriptor" not in font:
        yield "6.2.11.4 font not embedded"
    if font["/Subtype"] == "/CIDFontType2" and "/CIDToGIDMap" not in font:
        yield "6.2.11.3 glyphs of a font"
    if font["/Subtype"] == "/Type0" and font["/Encoding"] != "/Identity-H":
        yield "6.2.11.3 encoding of a font"


def _graphics_state(state: DictionaryObject) -> Iterator[str]:
    if {"/TR", "/TR2", "/HTP", "/HTO"} & set(state) and state.get("/TR2") != "/Default":
        yield "6.2.5 graphics state"
    if "/BM" in state and state["/BM"] not in BLEND_MODES:
        yield "6.2.10 blend mode"


def _annotation(annotation: DictionaryObject) -> Iterator[str]:
    flags = int(annotation.get("/F", 0))
    if annotation["/Subtype"] not in ANNOTATIONS:
        yield f"6.3.1 annotation {annotation['/Subtype']}"
    if not flags & PRINTED or flags & HIDDEN:
        yield "6.3.2 annotation that is not printed"


def _stream(stream: StreamObject) -> Iterator[str]:
    if {"/F", "/FFilter", "/FDecodeParms"} & set(stream):
        yield "6.1.7.1 stream outside the file"
    filters = stream.get("/Filter", ())
    if not set([filters] if isinstance(filters, str) else filters) <= FILTERS:
        yield f"6.1.7.2 filter {filters}"
