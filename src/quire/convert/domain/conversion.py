"""One conversion as the job stores it: which mapping, and which bytes it was accepted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KIND = "convert.xml"


@dataclass(frozen=True, slots=True)
class Conversion:
    """Where the bytes lie follows from the job's id alone, so nothing that a client wrote is ever a path."""

    mapping: str
    sha256: str
    size_bytes: int

    def to_payload(self) -> dict[str, object]:
        return {"mapping": self.mapping, "sha256": self.sha256, "size_bytes": self.size_bytes}

    @classmethod
    def from_payload(cls, payload: Mapping[str, object]) -> Conversion:
        mapping, sha256, size_bytes = payload["mapping"], payload["sha256"], payload["size_bytes"]
        if not isinstance(mapping, str) or not isinstance(sha256, str) or not isinstance(size_bytes, int):
            raise TypeError("a conversion names its mapping, sha256 and size")
        return cls(mapping, sha256, size_bytes)
