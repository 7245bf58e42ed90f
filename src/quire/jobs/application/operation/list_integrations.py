"""The external systems that jobs depend on, with their breakers."""

from __future__ import annotations

from collections.abc import Sequence

from quire.jobs.ports.v1.integration_gate import IntegrationGate, IntegrationStatus
from quire.runtime.auth import PLATFORM_SCOPE, Principal, requires


@requires("operator", scope=PLATFORM_SCOPE)
async def list_integrations(gate: IntegrationGate, caller: Principal) -> Sequence[IntegrationStatus]:
    return await gate.status()
