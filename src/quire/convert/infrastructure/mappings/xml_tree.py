"""Small trees of one namespace, and text that XML can hold."""

from __future__ import annotations

import re
from typing import cast

from lxml import etree

# Not characters of XML 1.0, or invisible halves of something.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


class Tree:
    def __init__(self, namespace: str, prefix: str | None = None) -> None:
        self._namespace = namespace
        self._map = cast("dict[str, str]", {prefix: namespace})

    def root(self, tag: str, **attributes: str) -> etree._Element:
        return etree.Element(f"{{{self._namespace}}}{tag}", attributes, nsmap=self._map)

    def add(self, parent: etree._Element, tag: str, text: str = "", **attributes: str) -> etree._Element:
        node = etree.SubElement(parent, f"{{{self._namespace}}}{tag}", attributes)
        if text:
            node.text = clean(text)
        return node


def clean(text: str) -> str:
    return FORBIDDEN.sub("", text).replace("\u00ad", "-")


def serialized(root: etree._Element) -> bytes:
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
