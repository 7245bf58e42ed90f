"""Whether bytes are one well-formed XML document, looked at as they pass by. Nothing is built and nothing expanded:
a document type is refused where it begins, and with it every entity. libxml2 adds limits of its own on names,
attributes and depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Never, cast

from lxml import etree

from quire.convert.domain.gateway_errors import BadGatewayAnswerError

# libxml2's own bound, which most readers after us have too. It holds where the parser asks for the bytes; a parser
# that is fed knows none.
DEPTH_MAX = 256


def check_xml(chunks: Iterator[bytes], max_bytes: int) -> None:
    """Blocks as long as `chunks` does. Between two reads the parser works without the interpreter's lock."""
    source = _Source(chunks, max_bytes)
    parser = etree.XMLParser(
        target=cast("etree.ParserTarget", _NoDocumentType()),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        etree.parse(cast("IO[bytes]", source), parser)
    except etree.XMLSyntaxError as error:
        raise _refusal(source, error) from None
    if parser.error_log.filter_from_errors():
        # A prefix without a namespace does not stop the parser, but every reader after it.
        raise BadGatewayAnswerError("the answer is no XML with namespaces", status=200)


class _Source:
    """The bytes as a file. The parser takes whatever length it is given."""

    def __init__(self, chunks: Iterator[bytes], max_bytes: int) -> None:
        self.size_bytes = 0
        self._chunks = chunks
        self._max_bytes = max_bytes

    def read(self, _size: int) -> bytes:
        chunk = next(self._chunks, b"")
        self.size_bytes += len(chunk)
        if self.size_bytes > self._max_bytes:
            raise BadGatewayAnswerError(f"the answer is larger than {self._max_bytes} bytes", status=200)
        return chunk


class _NoDocumentType:
    """A target without methods for elements and text: the parser calls nobody for them, and builds nothing."""

    def doctype(self, *_: object) -> Never:
        raise BadGatewayAnswerError("the answer declares a document type", status=200)

    def close(self) -> None:
        """There is nothing to hand over."""


def _refusal(source: _Source, error: etree.XMLSyntaxError) -> BadGatewayAnswerError:
    reason = f"the answer is no XML: {error.msg}"
    if not source.size_bytes:
        reason = "the answer is empty"
    elif "Excessive depth" in error.msg:
        reason = f"the answer nests elements deeper than {DEPTH_MAX}"
    return BadGatewayAnswerError(reason, status=200)
