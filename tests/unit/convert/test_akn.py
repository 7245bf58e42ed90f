"""What Akoma Ntoso makes of outlines of every shape: valid by its schema, each part under a name of its own."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from quire.convert.domain.legal_outline import Outline, outline_of
from quire.convert.infrastructure.mappings.akn import MAPPING, Spoken, written
from quire.convert.infrastructure.mappings.akn_meta import NAMESPACE
from quire.convert.infrastructure.mappings.schema import parsed
from quire.reading import Document

LABELS = ("1.", "2.", "1", "1.1", "1.2", "1.1.", "1.1.2", "1.2.2", "4.7", "4.7.2", "(a)", "a)", "(b)", "(1)", "1)",
          "(i)", "(ii)", "•", "§ 2", "Article 1.", "Article 1-2.", "ГЛАВА 1.", "Статья 2.", "MADDE 3 –", "Part II",
          "")  # fmt: skip
SAID = st.builds(
    Spoken,
    text=st.sampled_from(("Scope", "The parties agree.", "SCHEDULE", "Whereas", "2 The 2 parties", "")),
    label=st.sampled_from(LABELS),
    level=st.integers(0, 4),
    is_bold=st.booleans(),
    is_entry=st.sampled_from((False, False, True)),
)


@settings(deadline=None)
@given(st.lists(SAID, max_size=40))
def test_no_outline_gives_a_name_twice_or_xml_that_the_schema_refuses(said: list[Spoken]) -> None:
    assert set(_names(outline_of(said)).values()) <= {1}


def test_a_number_that_comes_again_does_not_take_the_name_of_another() -> None:
    outline = outline_of(
        Spoken("Scope", label, 1, True) for label in ("Article 1.", "Article 1.", "Article 1-2.")
    )
    names = _names(outline)
    assert {"art_1", "art_1_2", "art_1-2"} <= set(names)
    assert set(names.values()) == {1}


def test_the_file_and_its_main_part_are_named_alike() -> None:
    root = parsed(written(Document((), (), title="Lease"), Outline(), ""))
    (file,) = root.iter(f"{{{NAMESPACE}}}FRBRManifestation")
    this, whole = (node.get("value", "") for node in file[:2])
    assert whole.endswith(".xml")
    assert this == whole.removesuffix(".xml") + "/!main.xml"


def test_a_text_without_clauses_stands_in_the_body_and_its_title_before_it() -> None:
    said = [Spoken("Page 1", "", 0, False), Spoken("Invoice", "", 1, True), Spoken("Total", "", 0, True)]
    root = parsed(written(Document((), ()), outline_of([*said, Spoken("100.00", "", 0, False)]), ""))
    (preface,), (body,) = (root.iter(f"{{{NAMESPACE}}}{name}") for name in ("preface", "mainBody"))
    assert ["".join(node.itertext()).strip() for node in preface] == ["Page 1", "Invoice"]
    assert ["".join(node.itertext()).strip() for node in body] == ["Total", "100.00"]


def _names(outline: Outline) -> Counter[str]:
    xml = written(Document((), ()), outline, "")
    assert MAPPING.schema is not None
    MAPPING.schema.check(xml)
    return Counter(node.get("eId", "") for node in parsed(xml).iter() if node.get("eId"))
