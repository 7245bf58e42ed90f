"""What in a new OpenAPI document would break a client of the old one. Pure; knows nothing of files or git.

A request may be asked less and offered more; an answer may hold more, more surely. New values of an
answer's enum are compatible: clients have to expect states they do not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


def incompatible_changes(old: Document, new: Document) -> list[str]:
    return list(_operations(old, new))


def _operations(old: Document, new: Document) -> Iterator[str]:
    for path, item in old.get("paths", {}).items():
        if path not in new.get("paths", {}):
            yield f"{path}: path removed"
            continue
        for method in (method for method in METHODS if method in item):
            name = f"{method.upper()} {path}"
            after = new["paths"][path].get(method)
            if after is None:
                yield f"{name}: method removed"
            else:
                comparison = Comparison(old, new)
                yield from (f"{name}: {change}" for change in comparison.operation(item[method], after))


class Comparison:
    """Two documents, whose references it follows; each pair of references once, so that cycles end."""

    def __init__(self, old: Document, new: Document) -> None:
        self._old = old
        self._new = new
        self._compared: set[tuple[str, str, bool]] = set()

    def operation(self, old: Document, new: Document) -> Iterator[str]:
        if self._is_open(self._old, old) and not self._is_open(self._new, new):
            yield "now needs a token"
        yield from self._parameters(old, new)
        yield from self._bodies(old.get("requestBody"), new.get("requestBody"))
        yield from self._responses(old.get("responses", {}), new.get("responses", {}))

    def _is_open(self, document: Document, operation: Document) -> bool:
        return not operation.get("security", document.get("security", []))

    def _parameters(self, old: Document, new: Document) -> Iterator[str]:
        before, after = _named(old), _named(new)
        for key in before.keys() - after.keys():
            yield f"parameter {key[1]} removed"
        for key, parameter in sorted(after.items()):
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"parameter {key[1]} is now required"
            if key in before:
                schemas = before[key].get("schema", {}), parameter.get("schema", {})
                yield from self.schema(*schemas, at=f"parameter {key[1]}", asked=True)

    def _bodies(self, old: Document | None, new: Document | None) -> Iterator[str]:
        if old is None:
            if new is not None and new.get("required"):
                yield "a body is now required"
            return
        if new is None:
            yield "the body is no longer read"
            return
        if new.get("required") and not old.get("required"):
            yield "the body is now required"
        yield from self._contents(old, new, at="body", asked=True)

    def _responses(self, old: Document, new: Document) -> Iterator[str]:
        for status, response in old.items():
            if status not in new:
                yield f"response {status} removed"
                continue
            pair = self._resolve(self._old, response), self._resolve(self._new, new[status])
            yield from self._contents(*pair, at=f"response {status}", asked=False)

    def _contents(self, old: Document, new: Document, *, at: str, asked: bool) -> Iterator[str]:
        for media, content in old.get("content", {}).items():
            after = new.get("content", {}).get(media)
            if after is None:
                yield f"{at}: {media} removed"
            else:
                yield from self.schema(content.get("schema", {}), after.get("schema", {}), at=at, asked=asked)

    def schema(self, old: Document, new: Document, *, at: str, asked: bool) -> Iterator[str]:
        """`asked`: clients send it; otherwise clients receive it."""
        key = old.get("$ref", ""), new.get("$ref", ""), asked
        if all(key[:2]):
            if key in self._compared:
                return
            self._compared.add(key)
        before, after = self._variants(self._old, old), self._variants(self._new, new)
        given, taken = (before, after) if asked else (after, before)
        for kind in given.keys() - taken.keys() - {"any"} if "any" not in taken else ():
            yield f"{at}: {kind} no longer accepted" if asked else f"{at}: may now be {kind}"
        for kind in sorted(before.keys() & after.keys()):
            yield from self._variant(before[kind], after[kind], at=at, asked=asked)

    def _variant(self, old: Document, new: Document, *, at: str, asked: bool) -> Iterator[str]:
        if asked:
            yield from _narrowed(old, new, at)
        yield from self._properties(old, new, at=at, asked=asked)
        if "items" in old and "items" in new:
            yield from self.schema(old["items"], new["items"], at=f"{at}[]", asked=asked)

    def _properties(self, old: Document, new: Document, *, at: str, asked: bool) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        required_before, required_after = set(old.get("required", ())), set(new.get("required", ()))
        for name in before.keys() - after.keys():
            if not asked or new.get("additionalProperties") is False:
                yield f"{at}.{name}: removed"
        for name in sorted(required_after - required_before if asked else required_before - required_after):
            if asked or name in after:
                yield f"{at}.{name}: " + ("now required" if asked else "no longer certain")
        for name in before.keys() & after.keys():
            yield from self.schema(before[name], after[name], at=f"{at}.{name}", asked=asked)

    def _variants(self, document: Document, schema: Document) -> dict[str, Document]:
        """The alternatives of a schema by their kind: `string`, `null`, `object Job`."""
        resolved = self._resolve(document, schema)
        alternatives = resolved.get("anyOf") or resolved.get("oneOf")
        if alternatives:
            found: dict[str, Document] = {}
            for alternative in alternatives:
                found |= self._variants(document, alternative)
            return found
        kinds = resolved.get("type", "any")
        return dict.fromkeys(kinds if isinstance(kinds, list) else [kinds], resolved)

    def _resolve(self, document: Document, node: Document) -> Document:
        while "$ref" in node:
            target: Any = document
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            node = target
        return node


LOWER_IS_NARROWER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
HIGHER_IS_NARROWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")


def _narrowed(old: Document, new: Document, at: str) -> Iterator[str]:
    yield from _narrowed_values(old, new, at)
    for limit in LOWER_IS_NARROWER:
        if limit in new and new[limit] < old.get(limit, float("inf")):
            yield f"{at}: {limit} lowered to {new[limit]}"
    for limit in HIGHER_IS_NARROWER:
        if limit in new and new[limit] > old.get(limit, float("-inf")):
            yield f"{at}: {limit} raised to {new[limit]}"
    for rule in ("pattern", "format", "const"):
        if rule in new and new[rule] != old.get(rule):
            yield f"{at}: {rule} is now {new[rule]}"


def _narrowed_values(old: Document, new: Document, at: str) -> Iterator[str]:
    if "enum" not in new:
        return
    if "enum" not in old:
        yield f"{at}: limited to {new['enum']}"
        return
    gone = [value for value in old["enum"] if value not in new["enum"]]
    if gone:
        yield f"{at}: {', '.join(map(str, gone))} no longer accepted"


def _named(operation: Document) -> dict[tuple[str, str], Document]:
    return {(item["in"], item["name"]): item for item in operation.get("parameters", ())}
