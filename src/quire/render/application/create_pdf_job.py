"""Accept a document: allowed template, fitting payload, one job for equal work. No browser is near."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Never

from jsonschema_rs import Draft202012Validator

from quire.jobs import Intake, JobRequest, Receipt, enqueue_jobs
from quire.kernel import ForbiddenError, there_is
from quire.render.domain.errors import PayloadTooLargeError, TemplateError
from quire.render.domain.job_payload import RenderJob
from quire.render.domain.render_options import PAPERS, RenderOptions
from quire.render.domain.template_pack import TemplatePack
from quire.render.ports.v1.template_store import TemplateStore
from quire.runtime.auth import RAW_HTML_SCOPE, Principal

KIND = "render.pdf"
RAW_TEMPLATE = "raw_html"
# So many flaws of a payload are named at once.
FLAWS_MAX = 10
FLAW_LENGTH = 300


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    template_name: str
    payload: Mapping[str, object]
    template_version: str | None = None
    options: RenderOptions = field(default_factory=RenderOptions)


@dataclass(frozen=True, slots=True)
class RenderDesk:
    """What accepting documents needs; wired once a process."""

    intake: Intake
    templates: TemplateStore
    fingerprint: Callable[[], str]
    """The renderer that a document accepted now is for."""
    max_payload_bytes: int


async def create_pdf_job(
    desk: RenderDesk, caller: Principal, request: DocumentRequest, *, on_trust: bool = False
) -> Receipt:
    """`on_trust`: as of `enqueue_jobs`."""
    job = resolve_document(desk, caller, request)
    (receipt,) = await enqueue_jobs(
        desk.intake,
        [JobRequest(KIND, job.to_payload())],
        tenant_id=caller.tenant_id,
        created_by=caller.id,
        often_repeated=True,
        on_trust=on_trust,
    )
    return receipt


def resolve_document(desk: RenderDesk, caller: Principal, request: DocumentRequest) -> RenderJob:
    """The template's exact version and content become part of the work's identity."""
    size = _json_bytes(request.payload)
    if size > desk.max_payload_bytes:
        raise PayloadTooLargeError(f"{size} bytes; a document takes at most {desk.max_payload_bytes}")
    if request.options.paper is not None and request.options.paper not in PAPERS:
        raise TemplateError(
            f"no paper {request.options.paper[:20]!r}; {there_is(PAPERS, request.options.paper)}",
            extra={"pointer": "/options/paper"},
        )
    if "html" in request.payload:
        return _raw_document(desk, caller, request)
    pack = desk.templates.pack(request.template_name, request.template_version)
    check_data(pack, request.payload)
    return RenderJob(
        pack.name, pack.version, pack.content_hash, desk.fingerprint(), request.payload, request.options
    )


def _json_bytes(payload: Mapping[str, object]) -> int:
    """Without blanks. Whether it can be written exactly is asked when its key is made."""
    return len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass"))


def _raw_document(desk: RenderDesk, caller: Principal, request: DocumentRequest) -> RenderJob:
    if not caller.has_scope(RAW_HTML_SCOPE):
        raise ForbiddenError(f"raw HTML needs the scope {RAW_HTML_SCOPE}", code="SCOPE_REQUIRED")
    html = request.payload["html"]
    if not isinstance(html, str) or len(request.payload) != 1:
        raise TemplateError("raw HTML is one text field: html", extra={"pointer": "/payload/html"})
    return RenderJob(RAW_TEMPLATE, "0", "", desk.fingerprint(), {}, request.options, html)


def check_data(pack: TemplatePack, data: Mapping[str, object]) -> None:
    flaws = [
        (_pointer(error.instance_path), error.message[:FLAW_LENGTH])
        for error in islice(_validator(pack).iter_errors(dict(data)), FLAWS_MAX)
    ]
    if flaws:
        detail = "; ".join(f"{pointer}: {message}" for pointer, message in flaws)
        raise TemplateError(detail, extra={"pointer": flaws[0][0]})


def _pointer(path: Iterable[str | int]) -> str:
    return "/payload" + "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


@lru_cache(maxsize=256)
def _validator(pack: TemplatePack) -> Draft202012Validator:
    """Compiled: every caller waits for this check, and an invoice has a hundred places to look at."""
    return Draft202012Validator(dict(pack.schema), validate_formats=True, retriever=_refuse_reference)


def _refuse_reference(uri: str) -> Never:
    raise ValueError(f"a schema holds all it refers to, and {uri[:100]} is elsewhere")
