"""Which fields a request's body may have at a place, to say with a field that it may not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from fastapi import Request
from pydantic import BaseModel


def allowed_fields(request: Request, location: Sequence[str | int]) -> list[str]:
    """Of the object that holds `location`, such as ("body", "options", "colour"). Empty: not known."""
    body = getattr(request.scope.get("route"), "body_field", None)
    if body is None or not location or location[0] != "body":
        return []
    model = _model_in(body.field_info.annotation)
    for name in location[1:-1]:
        if isinstance(name, str) and model is not None:
            field = model.model_fields.get(name)
            model = _model_in(field.annotation) if field else None
    return list(model.model_fields) if model else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    return next(_models_in(annotation), None)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Inside lists, options and annotations."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
