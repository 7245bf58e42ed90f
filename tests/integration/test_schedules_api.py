"""`/schedules` and `quire schedules`: who sees what, pausing, resuming, running now."""

from __future__ import annotations
