"""Whether bytes are one well-formed XML document, looked at as they pass by. Nothing is built and nothing expanded:
a document type is refused where it begins, and with it every entity. libxml2 adds limits of its own on names and
attributes."""

from __future__ import annotations

from typing import Never, cast

from lxml import etree

from quire.convert.domain.gateway_errors import BadGatewayAnswerError


class XmlCheck:
    def __init__(self, max_bytes: int) -> None:
        self.size_bytes = 0
        self._max_bytes = max_bytes
        self._parser = etree.XMLParser(
            target=cast("etree.ParserTarget", _NoDocumentType()),
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        )

    def feed(self, chunk: bytes) -> None:
        self.size_bytes += len(chunk)
        if self.size_bytes > self._max_bytes:
            raise BadGatewayAnswerError(f"the answer is larger than {self._max_bytes} bytes", status=200)
        try:
            self._parser.feed(chunk)
        except etree.XMLSyntaxError as error:
            raise _no_xml(error) from None

    def close(self) -> None:
        """The document has ended: it was one, and whole."""
        if not self.size_bytes:
            raise BadGatewayAnswerError("the answer is empty", status=200)
        try:
            self._parser.close()
        except etree.XMLSyntaxError as error:
            raise _no_xml(error) from None
        if self._parser.feed_error_log:
            # A prefix without a namespace does not stop the parser, but every reader after it.
            raise BadGatewayAnswerError("the answer is no XML with namespaces", status=200)


class _NoDocumentType:
    """A target without methods for elements and text: the parser calls nobody for them, and builds nothing."""

    def doctype(self, *_: object) -> Never:
        raise BadGatewayAnswerError("the answer declares a document type", status=200)

    def close(self) -> None:
        """There is nothing to hand over."""


def _no_xml(error: etree.XMLSyntaxError) -> BadGatewayAnswerError:
    return BadGatewayAnswerError(f"the answer is no XML: {error.msg}", status=200)
