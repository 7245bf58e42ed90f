"""An incremental update of a PDF: objects written behind its bytes, which all stay where they were.

A rewritten file would be parsed, copied and numbered anew: three times the time, for the same pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject, NameObject, NumberObject, PdfObject


class FileUpdate:
    def __init__(self, pdf: bytes) -> None:
        self._pdf = pdf
        self._reader = PdfReader(BytesIO(pdf))
        size = self._reader.trailer["/Size"]
        assert isinstance(size, NumberObject)
        self._next_number = int(size)
        self._root = self._reader.trailer.raw_get("/Root")
        self._objects: dict[int, PdfObject] = {}
        self.catalog = DictionaryObject(self._reader.root_object)

    @property
    def information(self) -> Mapping[str, object]:
        """What the file says of itself so far."""
        return self._reader.metadata or {}

    def add(self, content: PdfObject) -> IndirectObject:
        number = self._next_number
        self._next_number += 1
        self._objects[number] = content
        return IndirectObject(number, 0, self._reader)

    def finish(self, information: DictionaryObject, identifier: PdfObject) -> bytes:
        """The whole file. The new catalog stands under the old one's number, so references to it hold."""
        described = self.add(information)
        self._objects[self._root.idnum] = self.catalog
        out = BytesIO(self._pdf)
        out.seek(0, 2)
        out.write(b"\n")
        places = {number: self._write(out, number) for number in sorted(self._objects)}
        table_at = out.tell()
        out.write(b"xref\n")
        for number, place in places.items():
            out.write(b"%d 1\n%010d 00000 n \n" % (number, place))
        self._write_trailer(out, described, identifier)
        out.write(b"\nstartxref\n%d\n%%%%EOF\n" % table_at)
        return out.getvalue()

    def _write(self, out: BytesIO, number: int) -> int:
        place = out.tell()
        out.write(b"%d 0 obj\n" % number)
        self._objects[number].write_to_stream(out)
        out.write(b"\nendobj\n")
        return place

    def _write_trailer(self, out: BytesIO, described: IndirectObject, identifier: PdfObject) -> None:
        trailer = DictionaryObject(
            {
                NameObject("/Size"): NumberObject(self._next_number),
                NameObject("/Root"): self._root,
                NameObject("/Info"): described,
                NameObject("/ID"): ArrayObject((identifier, identifier)),
                NameObject("/Prev"): NumberObject(self._reader._startxref),
            }
        )
        out.write(b"trailer\n")
        trailer.write_to_stream(out)
