"""XML of our own that is checked as it passes the parser, without a tree, is held to the same rules as with one."""

from __future__ import annotations

import pytest
from lxml import etree
from tests.unit.convert.samples import SAMPLES, mapped

from quire.convert.domain.xml_mapping import ResultInvalidError
from quire.convert.infrastructure.mappings.alto import SCHEMA
from quire.convert.infrastructure.mappings.schema import REASON_LENGTH


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (b"<String ", b"<Strong "),
        (b" CONTENT=", b" CONTENTS="),
        (b' HPOS="', b' HPOS="x'),
        (b' ID="P1B1L1"', b' ID="P1B1"'),
        (b' ID="P1B1"', b' ID="1"'),
    ],
    ids=["element", "attribute", "number", "ID given twice", "ID that is no name"],
)
def test_what_the_schema_forbids_is_found_without_a_tree(right: bytes, wrong: bytes) -> None:
    good = mapped("alto", (SAMPLES / "own-contract-en.pdf").read_bytes())
    SCHEMA.check_passing(good)
    bad = good.replace(right, wrong, 1)
    with pytest.raises(ResultInvalidError):
        SCHEMA.check(bad)
    with pytest.raises(ResultInvalidError):
        SCHEMA.check_passing(bad)


def test_a_long_reason_ends_with_a_whole_word() -> None:
    good = mapped("alto", (SAMPLES / "own-contract-en.pdf").read_bytes())
    with pytest.raises(ResultInvalidError) as long:
        SCHEMA.check(good.replace(b' HPOS="', b' HPOS="' + b"word " * 90, 1))
    assert len(long.value.detail) <= REASON_LENGTH
    assert long.value.detail.endswith("word …")


def test_what_is_no_xml_is_no_result_either() -> None:
    with pytest.raises(etree.XMLSyntaxError):
        SCHEMA.check_passing(b"<alto>")
