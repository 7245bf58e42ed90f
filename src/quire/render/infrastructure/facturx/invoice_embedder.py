"""Factur-X: payload → checked → CII XML → XSD → PDF/A-3."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from quire.render.domain.errors import TemplateError
from quire.render.infrastructure.facturx.archive_pdf import InvoiceFile, archive_pdf, printed_metadata
from quire.render.infrastructure.facturx.cross_industry_invoice import CrossIndustryInvoice
from quire.render.infrastructure.facturx.file_update import FileUpdate
from quire.render.infrastructure.facturx.invoice_part import PROFILES
from quire.render.infrastructure.facturx.invoice_rules import check_invoice, refusal
from quire.render.infrastructure.facturx.xml_schema import check_xml

WORDS = {"en": "Invoice", "tr": "Fatura", "ru": "Счёт"}


class FacturxInvoiceEmbedder:
    """Implements `InvoiceEmbedder`."""

    def embed(self, pdf: bytes, data: Mapping[str, object], profile: str, language: str) -> bytes:
        if "e_invoice" not in data:
            return pdf
        xml = invoice_xml(data, profile)
        seller, number = _seller_and_number(data)
        name = f"{WORDS.get(language, WORDS['en'])} {number}"
        update = FileUpdate(pdf)
        described = {"title": name, "author": seller, "subject": f"{name}, {seller}"}
        described |= printed_metadata(update)
        invoice = InvoiceFile(
            xml=xml, profile=profile, language=language, issued_on=str(data["issued_on"]), **described
        )
        return archive_pdf(update, invoice, hashlib.sha256(pdf + xml).digest())


def invoice_xml(data: Mapping[str, Any], profile: str) -> bytes:
    """The CII document alone, checked by rule and by XSD."""
    if profile not in PROFILES:
        raise TemplateError(f"unknown Factur-X profile {profile[:40]!r}")
    try:
        check_invoice(data)
        xml = CrossIndustryInvoice(data, profile).to_xml()
    except KeyError as error:
        # A pack of a user's own may have a looser schema than ours.
        raise refusal("/e_invoice", f"an e-invoice needs {error.args[0]!r}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise refusal("/e_invoice", f"a value does not fit an e-invoice: {str(error)[:200]}") from None
    check_xml(xml, profile)
    return xml


def _seller_and_number(data: Mapping[str, Any]) -> tuple[str, str]:
    return str(data["seller"]["name"]), str(data["number"])
