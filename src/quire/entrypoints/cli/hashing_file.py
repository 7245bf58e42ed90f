"""A file that is hashed while it is written."""

from __future__ import annotations

import hashlib
from typing import BinaryIO


class HashingFile:
    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return self._target.write(data)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()
