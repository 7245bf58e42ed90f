"""Whether what comes out of a pipe is one well-formed XML document. Nothing is built and nothing expanded: a document
type is refused where it begins, and with it every entity. libxml2 adds limits of its own on names, attributes and
depth."""

from __future__ import annotations

import os
from typing import Never, cast

from lxml import etree

from quire.convert.domain.gateway_errors import BadGatewayAnswerError

# libxml2's own bound, which most readers after us have too. It holds where the parser reads for itself; a parser that
# is fed knows none.
DEPTH_MAX = 256
# Of gzip. No XML begins with it, whatever its encoding.
PACKED = b"\x1f"
PIPES = "/dev/fd/{}"


def check_start(chunk: bytes) -> None:
    """What `check_xml` cannot see: libxml2 unpacks gzip on its way from a pipe, and would look at what is inside."""
    if chunk.startswith(PACKED):
        raise BadGatewayAnswerError("the answer is no XML: it is compressed", status=200)


def check_xml(pipe: int) -> None:
    """Blocks until the pipe's other end is closed or a fault is found. The parser reads the pipe itself, by its name,
    and so never waits for the interpreter's lock: asking us for each 4000 bytes would cost more than the parsing."""
    parser = etree.XMLParser(
        target=cast("etree.ParserTarget", _NoDocumentType()),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        etree.parse(PIPES.format(pipe), parser)
    except (etree.XMLSyntaxError, OSError) as error:
        raise _refusal(parser, error) from None
    if os.read(pipe, 1):
        # To a parser with a target, a file that is not there is no error.
        raise OSError("the answer was not read to its end")
    if parser.error_log.filter_from_errors():
        # A prefix without a namespace does not stop the parser, but every reader after it.
        raise BadGatewayAnswerError("the answer is no XML with namespaces", status=200)


class _NoDocumentType:
    """A target without methods for elements and text: the parser calls nobody for them, and builds nothing."""

    def doctype(self, *_: object) -> Never:
        raise BadGatewayAnswerError("the answer declares a document type", status=200)

    def close(self) -> None:
        """There is nothing to hand over."""


def _refusal(parser: etree.XMLParser, error: Exception) -> Exception:
    """Bytes that are no text in their encoding come as an OSError too. What the system refused, files or memory, is
    not the answer's fault."""
    found = parser.error_log.last_error
    if found is None or found.type_name.startswith("IO_"):
        return error
    reason = f"the answer is no XML: {found.message}, line {found.line}, column {found.column}"
    if "Excessive depth" in found.message:
        reason = f"the answer nests elements deeper than {DEPTH_MAX}"
    return BadGatewayAnswerError(reason, status=200)
