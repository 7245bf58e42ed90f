from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from quire.runtime.http.openapi.contract_changes import incompatible_changes

Document = dict[str, Any]

JOB = {
    "type": "object",
    "required": ["id", "state"],
    "properties": {
        "id": {"type": "string"},
        "state": {"type": "string", "enum": ["queued", "running"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "parent": {"$ref": "#/components/schemas/Job"},
    },
}
REQUEST = {
    "type": "object",
    "additionalProperties": False,
    "required": ["kind"],
    "properties": {
        "kind": {"type": "string", "maxLength": 100},
        "priority": {"type": "string", "enum": ["small", "large"]},
        "delay": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
    },
}
BASE: Document = {
    "security": [{"token": []}],
    "paths": {
        "/livez": {"get": {"security": [], "responses": {"200": {"description": ""}}}},
        "/jobs": {
            "post": {
                "parameters": [{"in": "query", "name": "wait", "schema": {"type": "integer", "maximum": 30}}],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobRequest"}}},
                },
                "responses": {
                    "201": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}}}
                    },
                    "default": {"$ref": "#/components/responses/Problem"},
                },
            },
            "get": {"responses": {"200": {}}},
        },
    },
    "components": {"schemas": {"Job": JOB, "JobRequest": REQUEST}, "responses": {"Problem": {}}},
}


def job(document: Document) -> Document:
    return document["components"]["schemas"]["Job"]  # type: ignore[no-any-return]


def request(document: Document) -> Document:
    return document["components"]["schemas"]["JobRequest"]  # type: ignore[no-any-return]


def post(document: Document) -> Document:
    return document["paths"]["/jobs"]["post"]  # type: ignore[no-any-return]


BREAKING: dict[str, Callable[[Document], object]] = {
    "/jobs: path removed": lambda d: d["paths"].pop("/jobs"),
    "GET /jobs: method removed": lambda d: d["paths"]["/jobs"].pop("get"),
    "GET /livez: now needs a token": lambda d: d["paths"]["/livez"]["get"].pop("security"),
    "POST /jobs: parameter wait removed": lambda d: post(d)["parameters"].clear(),
    "POST /jobs: parameter wait is now required": lambda d: post(d)["parameters"][0].update(required=True),
    "POST /jobs: parameter wait: maximum lowered to 10": lambda d: post(d)["parameters"][0]["schema"].update(
        maximum=10
    ),
    "GET /jobs: a body is now required": lambda d: d["paths"]["/jobs"]["get"].update(
        requestBody={"required": True}
    ),
    "POST /jobs: response 201 removed": lambda d: post(d)["responses"].pop("201"),
    "POST /jobs: response 201: application/json removed": lambda d: post(d)["responses"]["201"].update(
        content={}
    ),
    "POST /jobs: response 201.id: removed": lambda d: job(d)["properties"].pop("id"),
    "POST /jobs: response 201.state: no longer certain": lambda d: job(d).update(required=["id"]),
    "POST /jobs: response 201.id: may now be null": lambda d: job(d)["properties"].update(
        id={"anyOf": [{"type": "string"}, {"type": "null"}]}
    ),
    "POST /jobs: body.kind: maxLength lowered to 10": lambda d: request(d)["properties"]["kind"].update(
        maxLength=10
    ),
    "POST /jobs: body.kind: pattern is now ^a": lambda d: request(d)["properties"]["kind"].update(
        pattern="^a"
    ),
    "POST /jobs: body.priority: now required": lambda d: request(d)["required"].append("priority"),
    "POST /jobs: body.priority: removed": lambda d: request(d)["properties"].pop("priority"),
    "POST /jobs: body.priority: large no longer accepted": lambda d: request(d)["properties"][
        "priority"
    ].update(enum=["small"]),
    "POST /jobs: body.delay: null no longer accepted": lambda d: request(d)["properties"].update(
        delay={"type": "integer", "minimum": 0}
    ),
    "POST /jobs: body.delay: minimum raised to 5": lambda d: request(d)["properties"]["delay"]["anyOf"][
        0
    ].update(minimum=5),
}

COMPATIBLE: dict[str, Callable[[Document], object]] = {
    "nothing": lambda d: None,
    "a new path": lambda d: d["paths"].update({"/more": {"get": {"responses": {}}}}),
    "a new optional parameter": lambda d: post(d)["parameters"].append({"in": "query", "name": "new"}),
    "a new optional request field": lambda d: request(d)["properties"].update(new={"type": "string"}),
    "a new response field": lambda d: job(d)["properties"].update(new={"type": "string"}),
    "a new value in an answer": lambda d: job(d)["properties"]["state"]["enum"].append("failed"),
    "a new value in a request": lambda d: request(d)["properties"]["priority"]["enum"].append("xlarge"),
    "a wider limit": lambda d: request(d)["properties"]["kind"].update(maxLength=500),
    "a request field that may be null too": lambda d: request(d)["properties"].update(
        kind={"anyOf": [{"type": "string", "maxLength": 100}, {"type": "null"}]}
    ),
    "an answer that is surer": lambda d: job(d)["required"].append("note"),
    "a field no longer demanded": lambda d: request(d).update(required=[]),
    "a route opened": lambda d: post(d).update(security=[]),
}


def changed(change: Callable[[Document], object]) -> Document:
    document = copy.deepcopy(BASE)
    change(document)
    return document


@pytest.mark.parametrize("message", BREAKING)
def test_change_that_breaks_clients_is_named(message: str) -> None:
    assert message in incompatible_changes(BASE, changed(BREAKING[message]))


@pytest.mark.parametrize("name", COMPATIBLE)
def test_change_that_breaks_nobody_passes(name: str) -> None:
    assert incompatible_changes(BASE, changed(COMPATIBLE[name])) == []


def test_first_contract_breaks_nobody() -> None:
    assert incompatible_changes({}, BASE) == []
