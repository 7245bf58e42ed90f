"""One page of a list, as every list answers it."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from quire.runtime.http.cursor import LONGEST

Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next_cursor: str | None = None


PageLimit = Annotated[int, Query(ge=1, le=500, description="Items at most.")]
PageCursor = Annotated[
    str | None, Query(min_length=1, max_length=LONGEST, description="`next_cursor` of the page before.")
]
