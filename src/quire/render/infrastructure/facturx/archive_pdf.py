"""Makes a printed PDF a PDF/A-3 file that carries an XML invoice: colour profile, XMP metadata, file identifier,
associated file. The pages stay as they were printed. Nothing in it comes from a clock or a random source."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO

from facturx.facturx import FACTURX_FILENAME, FACTURX_LEVEL2xmp, generate_xmp_object
from lxml import etree
from pypdf import PdfReader, PdfWriter
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

XMP_NAMESPACE = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"
PRODUCER = "Quire"
XMP_HEAD = '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
XMP_TAIL = '\n<?xpacket end="w"?>'


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


def archive_pdf(pdf: bytes, invoice: InvoiceFile) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(pdf)))
    writer.pdf_header = "%PDF-1.7"
    _describe(writer, invoice)
    _attach(writer, invoice)
    _colour(writer)
    # PDF/A wants an identifier; the content's own hash is one that stays the same.
    identifier = ByteStringObject(hashlib.sha256(pdf + invoice.xml).digest()[:16])
    writer._ID = ArrayObject((identifier, identifier))
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def printed_metadata(pdf: bytes) -> dict[str, str]:
    """What the caller or the template chose to call the document."""
    found: Mapping[str, object] = PdfReader(BytesIO(pdf)).metadata or {}
    wanted = {"title": "/Title", "author": "/Author", "subject": "/Subject"}
    return {name: str(found[key]) for name, key in wanted.items() if found.get(key)}


def _describe(writer: PdfWriter, invoice: InvoiceFile) -> None:
    stamp = f"D:{invoice.issued_on.replace('-', '')}000000+00'00'"
    writer.metadata = {
        "/Title": invoice.title,
        "/Author": invoice.author,
        "/Subject": invoice.subject,
        "/Creator": PRODUCER,
        "/Producer": PRODUCER,
        "/CreationDate": stamp,
        "/ModDate": stamp,
    }
    stream = _stream(_xmp(invoice), {"/Type": NameObject("/Metadata"), "/Subtype": NameObject("/XML")})
    _set(writer, "/Metadata", writer._add_object(stream))
    _set(writer, "/Lang", TextStringObject(invoice.language))


def _xmp(invoice: InvoiceFile) -> bytes:
    root = generate_xmp_object(
        {
            "pdfa3_flavor": "B",
            "title": invoice.title,
            "author": invoice.author,
            "subject": invoice.subject,
            "producer": PRODUCER,
            "creator_tool": PRODUCER,
            "timestamp": f"{invoice.issued_on}T00:00:00+00:00",
            "version": "1.0",
            "documenttype": "INVOICE",
            "xml_filename": FACTURX_FILENAME,
            "xmp_level": FACTURX_LEVEL2xmp[invoice.profile],
            "urn": XMP_NAMESPACE,
        }
    )
    body = etree.tostring(root, pretty_print=True).decode().strip()
    return (XMP_HEAD + body + XMP_TAIL).encode()


def _attach(writer: PdfWriter, invoice: InvoiceFile) -> None:
    file = _stream(
        invoice.xml, {"/Type": NameObject("/EmbeddedFile"), "/Subtype": NameObject("/text/xml")}
    ).flate_encode()
    file[NameObject("/Params")] = DictionaryObject(
        {
            NameObject("/ModDate"): TextStringObject(f"D:{invoice.issued_on.replace('-', '')}000000+00'00'"),
            NameObject("/Size"): NumberObject(len(invoice.xml)),
        }
    )
    stored = writer._add_object(file)
    name = TextStringObject(FACTURX_FILENAME)
    specification = writer._add_object(
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
    names = writer.root_object.get("/Names", DictionaryObject()).get_object()
    names[NameObject("/EmbeddedFiles")] = embedded
    _set(writer, "/Names", names)
    _set(writer, "/AF", ArrayObject((specification,)))


def _colour(writer: PdfWriter) -> None:
    profile = writer._add_object(_stream(srgb_profile(), {"/N": NumberObject(3)}).flate_encode())
    intent = _dictionary(
        {
            "/Type": NameObject("/OutputIntent"),
            "/S": NameObject("/GTS_PDFA1"),
            "/OutputConditionIdentifier": TextStringObject("sRGB"),
            "/Info": TextStringObject("sRGB IEC61966-2.1"),
            "/DestOutputProfile": profile,
        }
    )
    _set(writer, "/OutputIntents", ArrayObject((writer._add_object(intent),)))


def _stream(data: bytes, entries: dict[str, PdfObject]) -> StreamObject:
    stream = DecodedStreamObject()
    stream.set_data(data)
    stream.update({NameObject(key): value for key, value in entries.items()})
    return stream


def _dictionary(entries: dict[str, PdfObject]) -> DictionaryObject:
    return DictionaryObject({NameObject(key): value for key, value in entries.items()})


def _set(writer: PdfWriter, key: str, value: PdfObject | IndirectObject) -> None:
    writer.root_object[NameObject(key)] = value
