"""What reading one document may cost. Every number is a ceiling for one child process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    memory_bytes: int = 1_073_741_824
    cpu_seconds: int = 60
    wall_seconds: float = 120.0
    output_bytes: int = 268_435_456
    pages: int = 5_000
