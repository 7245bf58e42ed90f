"""Reads a Cross Industry Invoice by the names of its elements; what is not there reads as nothing."""

from __future__ import annotations

import re

from lxml import etree

DAY = re.compile(r"(\d{4})(\d{2})(\d{2})")
_EMPTY = etree.Element("nothing")


class Cii:
    def __init__(self, node: etree._Element) -> None:
        self._node = node

    def all(self, path: str) -> list[Cii]:
        return [Cii(found) for found in self._node.findall(_any_namespace(path))]

    def one(self, path: str) -> Cii:
        found = self._node.find(_any_namespace(path))
        return Cii(_EMPTY if found is None else found)

    def has(self, path: str) -> bool:
        return self._node.find(_any_namespace(path)) is not None

    def text(self, path: str = ".") -> str:
        found = self._node if path == "." else self._node.find(_any_namespace(path))
        return (found.text or "").strip() if found is not None else ""

    def attribute(self, path: str, name: str) -> str:
        found = self._node if path == "." else self._node.find(_any_namespace(path))
        return found.get(name, "") if found is not None else ""

    def day(self, path: str) -> str:
        """`20260517` (format 102) as `2026-05-17`."""
        found = self._node.find(_any_namespace(path))
        text = "".join(map(str, found.itertext())).strip() if found is not None else ""
        parts = DAY.match(text)
        return "-".join(parts.groups()) if parts else ""


def _any_namespace(path: str) -> str:
    return "/".join(f"{{*}}{step}" for step in path.split("/"))
