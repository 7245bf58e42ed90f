"""What `quire demo` does, in the order it is shown. A context adds its scenarios to SCENARIOS."""

from __future__ import annotations

from quire.entrypoints.demo.conversions import CONVERSIONS
from quire.entrypoints.demo.delivery import DELIVERY
from quire.entrypoints.demo.documents import DOCUMENTS
from quire.entrypoints.demo.scenario import Result, Scenario, play
from quire.entrypoints.demo.trouble import TROUBLE
from quire.entrypoints.demo.volume import VOLUME

SCENARIOS: tuple[Scenario, ...] = (*DELIVERY, *DOCUMENTS, *CONVERSIONS, *TROUBLE, *VOLUME)

__all__ = ["SCENARIOS", "Result", "Scenario", "play"]
