"""PDFs that are locked, and one that is only sealed."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization.pkcs7 import PKCS7Options, PKCS7SignatureBuilder
from cryptography.x509.oid import NameOID
from pypdf import PdfReader, PdfWriter
from tests.support.hostile.parts import CATALOG, one_page, text

from quire.convert.infrastructure.mappings.sample_pdf import sample_pdf

SIGNATURE_BYTES = 2048
NO_RANGE = b"[0 0000000000 0000000000 0000000000]"


def locked_for_all() -> bytes:
    return _locked("a password", "another")


def locked_for_changes() -> bytes:
    """Opens for everybody; the password is the owner's, who allows nothing."""
    return _locked("", "the owner's")


def _locked(user: str, owner: str) -> bytes:
    writer, out = PdfWriter(PdfReader(io.BytesIO(sample_pdf()))), io.BytesIO()
    writer.encrypt(user, owner, permissions_flag=0, algorithm="AES-256")
    writer.write(out)
    return out.getvalue()


def locked_by_certificate() -> bytes:
    recipients = (
        b"<< /Filter /Adobe.PubSec /SubFilter /adbe.pkcs7.s4 /V 1 /R 2 /Length 128 /Recipients [<3080>] >>"
    )
    return _with_lock(recipients)


def locked_in_no_known_way() -> bytes:
    return _with_lock(b"<< /Filter /Standard /V 99 /R 99 /O (o) /U (u) /P 0 >>")


def _with_lock(lock: bytes) -> bytes:
    plain = one_page(text(b"sealed"), lock)
    return plain.replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt 5 0 R /ID [<00> <00>]")


def signed() -> bytes:
    """By a certificate of its own, over all of the file but the signature."""
    hole = b"<" + b"0" * (2 * SIGNATURE_BYTES) + b">"
    seal = (
        b"<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached /ByteRange %s /Contents %s >>"
    )
    field = b"<< /FT /Sig /T (Seal) /V 5 0 R /Type /Annot /Subtype /Widget /Rect [0 0 0 0] /P 3 0 R >>"
    catalog = CATALOG[:-2] + b"/AcroForm << /SigFlags 3 /Fields [6 0 R] >> >>"
    pdf = one_page(
        text(b"Signed words"), seal % (NO_RANGE, hole), field, catalog=catalog, more=b"/Annots [6 0 R]"
    )
    begin = pdf.index(hole)
    end = begin + len(hole)
    pdf = pdf.replace(NO_RANGE, b"[0 %010d %010d %010d]" % (begin, end, len(pdf) - end))
    signature = _signature(pdf[:begin] + pdf[end:]).hex().encode()
    return pdf.replace(hole, b"<" + signature.ljust(len(hole) - 2, b"0") + b">")


def _signature(said: bytes) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A signer")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, SHA256())
    )
    builder = PKCS7SignatureBuilder().set_data(said).add_signer(certificate, key, SHA256())
    return builder.sign(Encoding.DER, [PKCS7Options.DetachedSignature, PKCS7Options.Binary])
