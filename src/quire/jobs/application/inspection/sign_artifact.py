"""A URL that gives an artifact to whoever has it, made only for callers who may have the bytes themselves."""

from __future__ import annotations

from quire.jobs.application.inspection.artifact_access import may_have_bytes
from quire.jobs.domain.job import JobDetail
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import Principal
from quire.runtime.settings import SettingsError
from quire.runtime.storage import PresignedUrl, StorageBackend

DOWNLOAD_SECONDS = 900


async def sign_artifact(
    board: JobBoard, storage: StorageBackend, caller: Principal, detail: JobDetail
) -> PresignedUrl | None:
    """None: there is no artifact, it is not the caller's, or this installation cannot sign. The URL ends with the
    artifact, if that comes sooner."""
    artifact = detail.artifact
    if artifact is None or not await may_have_bytes(board, caller, detail.job):
        return None
    left = DOWNLOAD_SECONDS if artifact.seconds_left is None else int(artifact.seconds_left)
    if left < 1:
        return None
    try:
        return await storage.presign_get(
            artifact.key, ttl_seconds=min(left, DOWNLOAD_SECONDS), filename=artifact.filename
        )
    except SettingsError:
        # No QUIRE_SECRET_KEY, no signatures; the artifact's path works all the same.
        return None
