"""Where a page of an id-ordered list goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Protocol
from uuid import UUID

from fastapi import Query

from quire.kernel import InvalidInputError
from quire.runtime.http.cursor import decode_cursor, encode_cursor

TenantFilter = Annotated[
    str | None,
    Query(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="With platform scope: only this tenant's."),
]


class HasId(Protocol):
    @property
    def id(self) -> UUID: ...


def before_id(cursor: str | None) -> UUID | None:
    if cursor is None:
        return None
    (position,) = decode_cursor(cursor, str)
    try:
        return UUID(str(position))
    except ValueError:
        raise InvalidInputError("the cursor is not one this list gave", code="CURSOR_INVALID") from None


def next_cursor(items: Sequence[HasId], limit: int) -> str | None:
    return encode_cursor(str(items[-1].id)) if len(items) == limit else None
