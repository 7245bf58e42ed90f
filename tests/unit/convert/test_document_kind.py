"""A document is what its title says, not what its text speaks of."""

from __future__ import annotations

import pytest
from lxml import etree
from tests.unit.convert.samples import mapped, sample

from quire.convert.domain.document_kind import kind_of


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["Invoice 2026-0417 · Nordlicht", "Services Agreement MSA-31"], "invoice"),
        (["Invoice for contract 12"], "invoice"),
        (["Scan 0001", "СЧЁТ-ФАКТУРА № 5"], "invoice"),
        (["Договор об оказании услуг в соответствии с законом"], "contract"),
        (["", "Lease"], "contract"),
        (["Федеральный закон о договорах"], "act"),
        (["Report of the contractor", "Rechnungsnummer", "Счёт прибылей"], "document"),
        (["Heading"] * 6 + ["Law"], "document"),
        ([], "document"),
    ],
)
def test_the_first_name_that_says_it_decides(names: list[str], kind: str) -> None:
    assert kind_of(names) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("bash", "document"),
        ("invoice-factur-x", "invoice"),
        ("invoice-zugferd", "invoice"),
        ("invoice-zugferd-small", "invoice"),
        ("own-contract-en", "contract"),
        ("own-law-ru", "act"),
        ("zoo-design", "document"),
    ],
)
def test_akoma_ntoso_calls_a_document_what_it_calls_itself(name: str, kind: str) -> None:
    work = etree.fromstring(mapped("akn", sample(name)))[0]
    assert (etree.QName(work).localname, work.get("name")) == ("act" if kind == "act" else "doc", kind)
