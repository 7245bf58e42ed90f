"""Whether bytes are one well-formed XML document, looked at as they pass by. Nothing is built and nothing expanded:
a document type or an entity of its own is refused at its first character."""

from __future__ import annotations

from typing import Never
from xml.parsers import expat

from quire.convert.domain.gateway_errors import BadGatewayAnswerError

# What readers of the result take: libxml2 stops here too.
DEEPEST = 256


class XmlCheck:
    def __init__(self, max_bytes: int) -> None:
        self.size_bytes = 0
        self._max_bytes = max_bytes
        self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser.StartDoctypeDeclHandler = _refuse_declaration
        self._parser.EntityDeclHandler = _refuse_declaration
        self._parser.ExternalEntityRefHandler = _refuse_declaration
        self._parser.StartElementHandler = self._enter
        self._parser.EndElementHandler = self._leave

    def feed(self, chunk: bytes) -> None:
        self.size_bytes += len(chunk)
        if self.size_bytes > self._max_bytes:
            raise BadGatewayAnswerError(f"the answer is larger than {self._max_bytes} bytes", status=200)
        self._parse(chunk, is_last=False)

    def close(self) -> None:
        """The document has ended: it was one, and whole."""
        if not self.size_bytes:
            raise BadGatewayAnswerError("the answer is empty", status=200)
        self._parse(b"", is_last=True)

    def _parse(self, chunk: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(chunk, is_last)
        except expat.ExpatError as error:
            raise BadGatewayAnswerError(f"the answer is no XML: {error}", status=200) from None
        except (LookupError, ValueError):
            # An encoding that nobody knows.
            raise BadGatewayAnswerError("the answer is no XML: its encoding is unknown", status=200) from None

    def _enter(self, _name: str, _attributes: object) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise BadGatewayAnswerError(f"the answer nests deeper than {DEEPEST} elements", status=200)

    def _leave(self, _name: str) -> None:
        self._depth -= 1


def _refuse_declaration(*_: object) -> Never:
    raise BadGatewayAnswerError("the answer declares a document type or entities", status=200)
