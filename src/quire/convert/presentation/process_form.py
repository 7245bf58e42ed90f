"""The form of `POST /process`: `mapping`, a word, and `file`, which goes to disk as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from quire.convert.domain.xml_mapping import NotMultipartError
from quire.kernel import MalformedRequestError, QuireError

FIELDS_MAX = 8
FIELD_MAX_BYTES = 4_096


@dataclass(frozen=True)
class ProcessForm:
    mapping: str
    file: IO[bytes]


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[ProcessForm]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise NotMultipartError("send `mapping` and `file` as multipart/form-data")
    form = await _parsed(request)
    try:
        yield ProcessForm(_mapping(form), _file(form))
    finally:
        await form.close()


async def _parsed(request: Request) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=FIELDS_MAX, max_part_size=FIELD_MAX_BYTES)
    except HTTPException as error:
        if isinstance(error.__cause__, QuireError):
            raise error.__cause__ from None
        raise MalformedRequestError("the form cannot be parsed, or has more fields than two") from None


def _mapping(form: FormData) -> str:
    given = form.getlist("mapping")
    if len(given) != 1 or not isinstance(given[0], str):
        raise MalformedRequestError("send one field `mapping`")
    return given[0]


def _file(form: FormData) -> IO[bytes]:
    given = form.getlist("file")
    if len(given) != 1 or not isinstance(given[0], UploadFile):
        raise MalformedRequestError("send one file as `file`")
    if not given[0].size:
        raise MalformedRequestError("`file` is empty")
    spooled = given[0].file
    spooled.rollover()  # type: ignore[attr-defined]  # a file the child can be handed; Starlette's is spooled
    return spooled
