"""Makes a printed PDF a PDF/A-3 file that carries an XML invoice: colour profile, XMP metadata, file identifier,
associated file. The pages stay as they were printed. Nothing in it comes from a clock or a random source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from xml.sax.saxutils import escape

from facturx.facturx import FACTURX_FILENAME, FACTURX_LEVEL2xmp, generate_xmp_object
from lxml import etree
from pypdf.generic import (
    ArrayObject,
    ByteStringObject,
    DecodedStreamObject,
    DictionaryObject,
    IndirectObject,
    NameObject,
    NumberObject,
    PdfObject,
    StreamObject,
    TextStringObject,
)

from quire.render.infrastructure.facturx.color_profile import srgb_profile
from quire.render.infrastructure.facturx.file_update import FileUpdate

XMP_NAMESPACE = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"
PRODUCER = "Quire"
XMP_HEAD = '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
XMP_TAIL = '\n<?xpacket end="w"?>'
_WORD = re.compile(r"\{(title|author|subject|issued_on)\}")


@dataclass(frozen=True, slots=True)
class InvoiceFile:
    xml: bytes
    profile: str
    language: str
    title: str
    author: str
    subject: str
    issued_on: str
    """The only date in the file: a clock would change the bytes."""


def archive_pdf(update: FileUpdate, invoice: InvoiceFile, content_hash: bytes) -> bytes:
    """PDF/A wants an identifier; a hash of the content is one that stays the same."""
    _set(update, "/Version", NameObject("/1.7"))  # what PDF/A-3 builds on; Chromium's header says less
    _describe(update, invoice)
    _attach(update, invoice)
    _colour(update)
    return update.finish(_information(invoice), ByteStringObject(content_hash[:16]))


def printed_metadata(update: FileUpdate) -> dict[str, str]:
    """What the caller or the template chose to call the document."""
    found = update.information
    wanted = {"title": "/Title", "author": "/Author", "subject": "/Subject"}
    return {name: str(found[key]) for name, key in wanted.items() if found.get(key)}


def _information(invoice: InvoiceFile) -> DictionaryObject:
    stamp = f"D:{invoice.issued_on.replace('-', '')}000000+00'00'"
    entries = {
        "/Title": invoice.title,
        "/Author": invoice.author,
        "/Subject": invoice.subject,
        "/Creator": PRODUCER,
        "/Producer": PRODUCER,
        "/CreationDate": stamp,
        "/ModDate": stamp,
    }
    return _dictionary({key: TextStringObject(value) for key, value in entries.items()})


def _describe(update: FileUpdate, invoice: InvoiceFile) -> None:
    stream = _stream(_xmp(invoice), {"/Type": NameObject("/Metadata"), "/Subtype": NameObject("/XML")})
    _set(update, "/Metadata", update.add(stream))
    _set(update, "/Lang", TextStringObject(invoice.language))


def _xmp(invoice: InvoiceFile) -> bytes:
    """The same for all invoices of a profile but for these words, so it is built once and they are put in."""
    words = {name: escape(getattr(invoice, name)) for name in ("title", "author", "subject", "issued_on")}
    return _WORD.sub(lambda found: words[found.group(1)], _xmp_form(invoice.profile)).encode()


@lru_cache(maxsize=len(FACTURX_LEVEL2xmp))
def _xmp_form(profile: str) -> str:
    root = generate_xmp_object(
        {
            "pdfa3_flavor": "B",
            "title": "{title}",
            "author": "{author}",
            "subject": "{subject}",
            "producer": PRODUCER,
            "creator_tool": PRODUCER,
            "timestamp": "{issued_on}T00:00:00+00:00",
            "version": "1.0",
            "documenttype": "INVOICE",
            "xml_filename": FACTURX_FILENAME,
            "xmp_level": FACTURX_LEVEL2xmp[profile],
            "urn": XMP_NAMESPACE,
        }
    )
    return XMP_HEAD + etree.tostring(root, pretty_print=True).decode().strip() + XMP_TAIL


def _attach(update: FileUpdate, invoice: InvoiceFile) -> None:
    file = _stream(
        invoice.xml, {"/Type": NameObject("/EmbeddedFile"), "/Subtype": NameObject("/text/xml")}
    ).flate_encode()
    file[NameObject("/Params")] = DictionaryObject(
        {
            NameObject("/ModDate"): TextStringObject(f"D:{invoice.issued_on.replace('-', '')}000000+00'00'"),
            NameObject("/Size"): NumberObject(len(invoice.xml)),
        }
    )
    stored = update.add(file)
    name = TextStringObject(FACTURX_FILENAME)
    specification = update.add(
        _dictionary(
            {
                "/Type": NameObject("/Filespec"),
                "/F": name,
                "/UF": name,
                "/Desc": TextStringObject("Factur-X invoice"),
                # The XML says the same as the pages.
                "/AFRelationship": NameObject("/Alternative"),
                "/EF": _dictionary({"/F": stored, "/UF": stored}),
            }
        )
    )
    embedded = _dictionary({"/Names": ArrayObject((name, specification))})
    names = DictionaryObject(update.catalog.get("/Names", DictionaryObject()).get_object())
    names[NameObject("/EmbeddedFiles")] = embedded
    _set(update, "/Names", names)
    _set(update, "/AF", ArrayObject((specification,)))


def _colour(update: FileUpdate) -> None:
    profile = update.add(_profile_stream())
    intent = _dictionary(
        {
            "/Type": NameObject("/OutputIntent"),
            "/S": NameObject("/GTS_PDFA1"),
            "/OutputConditionIdentifier": TextStringObject("sRGB"),
            "/Info": TextStringObject("sRGB IEC61966-2.1"),
            "/DestOutputProfile": profile,
        }
    )
    _set(update, "/OutputIntents", ArrayObject((update.add(intent),)))


@lru_cache(maxsize=1)
def _profile_stream() -> StreamObject:
    return _stream(srgb_profile(), {"/N": NumberObject(3)}).flate_encode()


def _stream(data: bytes, entries: dict[str, PdfObject]) -> StreamObject:
    stream = DecodedStreamObject()
    stream.set_data(data)
    stream.update({NameObject(key): value for key, value in entries.items()})
    return stream


def _dictionary(entries: dict[str, PdfObject]) -> DictionaryObject:
    return DictionaryObject({NameObject(key): value for key, value in entries.items()})


def _set(update: FileUpdate, key: str, value: PdfObject | IndirectObject) -> None:
    update.catalog[NameObject(key)] = value
