"""The document of a schedule: the request that `POST /pdf/jobs` takes, resolved when its tick comes."""

from __future__ import annotations

from pydantic import ValidationError

from quire.jobs import Schedule
from quire.kernel import InvalidInputError
from quire.render.application.create_pdf_job import RenderDesk, resolve_document
from quire.render.presentation.schemas.pdf import PdfRequest
from quire.runtime.auth import Principal


def scheduled_document(desk: RenderDesk, schedule: Schedule) -> dict[str, object]:
    """Raises the errors of `POST /pdf/jobs`; raw HTML needs a scope, which a schedule has not."""
    try:
        request = PdfRequest.model_validate(dict(schedule.payload))
    except ValidationError as error:
        flaws = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:3]]
        raise InvalidInputError("; ".join(flaws), code="VALIDATION_FAILED") from None
    caller = Principal("schedule", schedule.name, schedule.tenant_id, "user")
    return dict(resolve_document(desk, caller, request.wanted()).to_payload())
