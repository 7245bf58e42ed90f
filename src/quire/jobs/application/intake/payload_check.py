"""A payload is a JSON object, small, canonical and fit for its kind, before it is stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice

import jsonschema

from quire.jobs.application.intake.storable_json import flaw_of
from quire.jobs.domain.errors import PayloadTooLargeError, PayloadUndecodableError
from quire.jobs.ports.v1.handler import Handler
from quire.kernel import canonical_json

# So many flaws of a payload are named at once.
FLAWS_MAX = 10
FLAW_LENGTH = 200


def check_payload(payload: Mapping[str, object], handler: Handler, max_bytes: int) -> bytes:
    """The canonical bytes. Raises PayloadTooLargeError, PayloadUndecodableError or InvalidInputError."""
    text = canonical_json(dict(payload))
    if len(text) > max_bytes:
        raise PayloadTooLargeError(f"{len(text)} bytes; {handler.kind} takes at most {max_bytes}")
    if (flaw := flaw_of(payload, text)) is not None:
        raise PayloadUndecodableError(flaw)
    if handler.schema is not None:
        _check_schema(payload, handler)
    return text


@lru_cache(maxsize=256)
def _validator_of(schema_text: str) -> jsonschema.Draft202012Validator:
    """Compiled once a schema: building a validator costs more than using it."""
    return jsonschema.Draft202012Validator(json.loads(schema_text))


def _check_schema(payload: Mapping[str, object], handler: Handler) -> None:
    validator = _validator_of(json.dumps(handler.schema))
    errors = islice(validator.iter_errors(dict(payload)), FLAWS_MAX)
    if flaws := [f"{_place(error.absolute_path)}: {error.message[:FLAW_LENGTH]}" for error in errors]:
        raise PayloadUndecodableError("; ".join(flaws))


def _place(path: Iterable[object]) -> str:
    return "/".join(map(str, path)) or "payload"
