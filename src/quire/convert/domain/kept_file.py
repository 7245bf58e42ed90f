"""A file that is kept for a job, as a sweep finds it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class KeptFile:
    job_id: UUID
    kept_at: datetime
