"""Which guideline a UBL invoice may name: EN 16931 only where its sums are as that norm wants them.

No rule engine: it adds up what the invoice itself states. The terms of each sum are those of the norm's rules BR-CO-10
to BR-CO-16, and BR-S-08 with its likes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from lxml import etree

from quire.convert.domain.xml_mapping import EmbeddedInvoiceError

NORM = "urn:cen.eu:en16931:2017"
# Profiles of these say nothing to readers of UBL; the norm beneath them does.
CII_ONLY = ("factur-x", "zugferd")
# What the norm calls a guideline that goes further than itself.
EXTENSION = "#conformant#"
# Stated sums are rounded to cents.
HALF_A_CENT = Decimal("0.005")
# Taxable amounts may be rounded otherwise than their parts: the norm's published rules let them differ by less than 1.
ROOM = Decimal(1)


def guideline_for(invoice: etree._Element, guideline: str) -> str:
    """What the answer says of itself. An invoice that claims the norm and breaks it is refused, not translated."""
    breach = breach_of(invoice)
    if not breach:
        return NORM if any(name in guideline.lower() for name in CII_ONLY) else guideline
    if guideline.lower().startswith(NORM) and EXTENSION not in guideline.lower():
        raise EmbeddedInvoiceError(f"it names EN 16931, and {breach}")
    return guideline


def breach_of(invoice: etree._Element) -> str:
    """The first sum that does not come out, in words; nothing when all do."""
    for rule, what, parts, stated in _sums(invoice):
        if abs(parts - stated) > HALF_A_CENT:
            return f"{what}: {stated} is stated, the parts come to {parts} ({rule})"
    for line in invoice.findall("{*}InvoiceLine"):
        if len(line.findall("{*}Item/{*}ClassifiedTaxCategory")) != 1:
            return f"line {line.findtext('{*}ID')} has not one tax category (BR-CO-04)"
    return _tax_breach(invoice)


def _sums(invoice: etree._Element) -> Iterator[tuple[str, str, Decimal, Decimal]]:
    totals = invoice.find("{*}LegalMonetaryTotal")
    lines, net, gross = (
        _amount(totals, name) for name in ("LineExtensionAmount", "TaxExclusiveAmount", "TaxInclusiveAmount")
    )
    allowances, charges = _amount(totals, "AllowanceTotalAmount"), _amount(totals, "ChargeTotalAmount")
    tax = invoice.find("{*}TaxTotal")
    yield "BR-CO-10", "the lines", _total(invoice.findall("{*}InvoiceLine"), "LineExtensionAmount"), lines
    yield "BR-CO-11", "the allowances", _total(_adjustments(invoice, charge=False), "Amount"), allowances
    yield "BR-CO-12", "the charges", _total(_adjustments(invoice, charge=True), "Amount"), charges
    yield "BR-CO-13", "the total without tax", lines - allowances + charges, net
    if tax is not None and tax.find("{*}TaxSubtotal") is not None:
        yield (
            "BR-CO-14",
            "the tax",
            _total(tax.findall("{*}TaxSubtotal"), "TaxAmount"),
            _amount(tax, "TaxAmount"),
        )
    yield "BR-CO-15", "the total with tax", net + _amount(tax, "TaxAmount"), gross
    due = gross - _amount(totals, "PrepaidAmount") + _amount(totals, "PayableRoundingAmount")
    yield "BR-CO-16", "the amount due", due, _amount(totals, "PayableAmount")


def _tax_breach(invoice: etree._Element) -> str:
    """What is taxed alike comes to the amount that the breakdown has for it."""
    parts: dict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    for line in invoice.findall("{*}InvoiceLine"):
        parts[_taxed_as(line.find("{*}Item/{*}ClassifiedTaxCategory"))] += _amount(
            line, "LineExtensionAmount"
        )
    for charge in (False, True):
        for adjustment in _adjustments(invoice, charge=charge):
            amount = _amount(adjustment, "Amount")
            parts[_taxed_as(adjustment.find("{*}TaxCategory"))] += amount if charge else -amount
    stated: dict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    for part in invoice.findall("{*}TaxTotal/{*}TaxSubtotal"):
        stated[_taxed_as(part.find("{*}TaxCategory"))] += _amount(part, "TaxableAmount")
    for taxed_as, amount in stated.items():
        apart = abs(amount - parts[taxed_as])
        if apart >= ROOM or (apart and not taxed_as[1]):
            category, rate = taxed_as
            return f"{amount} is taxed as {category} {rate} %, the parts come to {parts[taxed_as]} (BR-{category}-08)"
    return ""


def _taxed_as(category: etree._Element | None) -> tuple[str, Decimal]:
    if category is None:
        return "", Decimal(0)
    return category.findtext("{*}ID") or "", _amount(category, "Percent")


def _adjustments(invoice: etree._Element, *, charge: bool) -> list[etree._Element]:
    wanted = ("true", "1") if charge else ("false", "0")
    found = invoice.findall("{*}AllowanceCharge")
    return [node for node in found if node.findtext("{*}ChargeIndicator") in wanted]


def _total(nodes: list[etree._Element], name: str) -> Decimal:
    return sum((_amount(node, name) for node in nodes), Decimal(0))


def _amount(node: etree._Element | None, name: str) -> Decimal:
    return Decimal((node.findtext(f"{{*}}{name}") if node is not None else None) or 0)
