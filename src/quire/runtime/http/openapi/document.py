"""The OpenAPI document: FastAPI's, plus what the app enforces outside its routes (tokens, problems)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from quire.runtime.http.problem_json import CONTENT_TYPE

Document = dict[str, Any]

METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})

PROBLEM_SCHEMA: Document = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457. `error_code` is stable; `retryable`: the same request may succeed later.",
    "required": ["type", "title", "status", "error_code", "detail", "retryable", "trace_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "error_code": {"type": "string"},
        "detail": {"type": "string"},
        "retryable": {"type": "boolean"},
        "trace_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
PROBLEM_RESPONSE: Document = {
    "description": "Refused or failed, as a problem.",
    "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def openapi_document(app: FastAPI, open_operations: frozenset[tuple[str, str]]) -> Document:
    """`open_operations` are (METHOD, path) pairs that need no bearer token."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = PROBLEM_SCHEMA
    components["responses"] = {"Problem": PROBLEM_RESPONSE}
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "qr_…"}}
    document["security"] = [{"token": []}]
    for method, path, operation in operations(document):
        _complete(operation, is_open=(method.upper(), path) in open_operations)
    return document


def operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, item in document.get("paths", {}).items():
        for method, operation in item.items():
            if method in METHODS:
                yield method, path, operation


def _complete(operation: Document, *, is_open: bool) -> None:
    responses = operation.setdefault("responses", {})
    validation = responses.get("422", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if validation.get("$ref") == "#/components/schemas/HTTPValidationError":
        del responses["422"]
    responses.setdefault("default", {"$ref": "#/components/responses/Problem"})
    if is_open:
        operation["security"] = []
