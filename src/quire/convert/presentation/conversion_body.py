"""The two bodies that ask for a conversion: a form with the file itself, or JSON that names an upload."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from quire.convert.application.upload_desk import UploadDesk
from quire.convert.presentation.schemas.conversion import UploadedFileIn
from quire.kernel import UnsupportedMediaError
from quire.runtime.auth import Principal
from quire.runtime.storage import CHUNK_BYTES

FIELD_MAX_BYTES = 1024
REQUEST_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "mapping"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "mapping": {"type": "string"},
                    },
                }
            },
            "application/json": {"schema": UploadedFileIn.model_json_schema()},
        },
    }
}

Wanted = tuple[str, AsyncIterator[bytes]]


@asynccontextmanager
async def wanted_conversion(
    request: Request, caller: Principal, uploads: UploadDesk
) -> AsyncIterator[Wanted]:
    """The mapping, and the file's bytes as they are read. The name that the client gave its file is left here."""
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        async with request.form(max_files=2, max_fields=2, max_part_size=FIELD_MAX_BYTES) as form:
            yield _of_form(form)
    elif kind == "application/json":
        body = _of_json(await request.json())
        yield body.mapping, await uploads.read(caller, body.upload_key)
    else:
        raise UnsupportedMediaError(
            "send multipart/form-data with file and mapping, or JSON with upload_key and mapping"
        )


def _of_form(form: FormData) -> Wanted:
    file, mapping = form.get("file"), form.get("mapping")
    if not isinstance(file, UploadFile) or not isinstance(mapping, str) or len(form.multi_items()) != 2:
        missing = [{"loc": ("body",), "msg": "a form has two fields: file, which is a file, and mapping"}]
        raise RequestValidationError(missing)
    return mapping, _chunks(file)


async def _chunks(file: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await file.read(CHUNK_BYTES):
        yield chunk


def _of_json(body: object) -> UploadedFileIn:
    try:
        return UploadedFileIn.model_validate(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False, include_url=False)) from None
