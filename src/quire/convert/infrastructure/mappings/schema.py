"""Published schemas from the files beside this one, loaded once. Nothing is fetched: what a schema imports by URL is
here too, and no other file or address is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from importlib.resources import files
from textwrap import shorten
from typing import Any, cast

from lxml import etree

from quire.convert.domain.xml_mapping import ResultInvalidError

FOLDER = "quire.convert.infrastructure.mappings"
# Where the published files point to each other over the network.
LOCAL = {"http://www.loc.gov/standards/xlink/xlink.xsd": "alto/xlink.xsd"}
REASON_LENGTH = 200
# In XML of our own writing, where a quote inside a value is never a bare one.
NAME = re.compile(rb'\sID="([^"]*)"')


class _Local(etree.Resolver):
    def resolve(self, url: str, public_id: str, context: object) -> object:  # type: ignore[override]
        local = LOCAL.get(url)
        if local is None:
            return None
        return self.resolve_filename(str(files(FOLDER).joinpath("schemas", local)), context)  # type: ignore[attr-defined]


class Schema:
    """`path` is relative to `schemas/`, or to the package named."""

    def __init__(self, path: str, package: str = FOLDER, folder: str = "schemas") -> None:
        self._path = path
        self._package = package
        self._folder = folder

    @cached_property
    def validator(self) -> etree.XMLSchema | etree.RelaxNG:
        parser = etree.XMLParser(no_network=True)
        parser.resolvers.add(_Local())
        tree = etree.parse(str(files(self._package).joinpath(self._folder, self._path)), parser)
        return etree.RelaxNG(tree) if self._path.endswith(".rng") else etree.XMLSchema(tree)

    def check(self, xml: bytes) -> etree._Element:
        root = parsed(xml)
        if not self.validator.validate(root):
            raise ResultInvalidError(self.reason())
        return root

    def check_passing(self, xml: bytes) -> None:
        """Our own XML, as it passes through the parser: no tree is built, which is as much work again. Whether names
        are given twice only a tree shows, so that is looked at beside."""
        parser = etree.XMLParser(
            target=cast("etree.ParserTarget", _Nobody()),
            schema=cast("etree.XMLSchema", self.validator),
            resolve_entities=False,
            no_network=True,
            huge_tree=True,
        )
        _parse(xml, parser)
        if parser.error_log:
            raise ResultInvalidError(_last(parser.error_log))
        names = NAME.findall(xml)
        if len(names) != len(set(names)):
            raise ResultInvalidError("an ID is given twice")

    def reason(self) -> str:
        return _last(self.validator.error_log)


class _Nobody:
    """Told of nothing, so nothing is built."""

    def close(self) -> None:
        """There is nothing to hand over."""


def _last(log: object) -> str:
    errors = [str(error.message) for error in cast("Iterable[Any]", log)]
    return shorten(errors[-1], REASON_LENGTH, placeholder=" …") if errors else "no reason given"


def parsed(xml: bytes) -> etree._Element:
    """Strangers' XML: no entities, no DTD, no network."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=True
    )
    return cast("etree._Element", _parse(xml, parser))


def _parse(xml: bytes, parser: etree.XMLParser) -> object:
    """libxml2 calls it a fault of the document when its memory ends."""
    try:
        return etree.fromstring(xml, parser)
    except etree.XMLSyntaxError:
        last = parser.error_log.last_error
        if last is not None and last.type == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from None
        raise
