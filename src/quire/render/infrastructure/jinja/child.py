"""The process that runs template code: no rights, no network (its parent sees to that), little memory. Takes framed
requests on standard input, answers on standard output, and imports nothing of Quire but its filters and its cell."""

from __future__ import annotations

import json
import resource
import struct
import sys
from functools import lru_cache
from typing import BinaryIO

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from quire.render.infrastructure.jinja.filters import FILTERS, day, money
from quire.runtime.isolation import give_up_rights, limit

MEMORY_MAX_BYTES = 512 * 1024 * 1024
HTML_MAX_CHARACTERS = 8_000_000
TEMPLATES_KEPT = 32
LANGUAGES = ("en", "tr", "ru", "de", "fr", "es", "it", "nl", "pl", "pt", "uk")


def main() -> None:
    warm_up()
    take_limits()
    give_up_rights()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    write_frame(sink, b"ready")
    while (request := read_frame(source)) is not None:
        write_frame(sink, answer(request))


def warm_up() -> None:
    """Everything that is read late by nature: language data, and what Jinja imports to describe an error."""
    for source in (
        "{{ x }}",
        "{% if %}",
        "{{ 1 | money('EUR') }}{% for i in [1] %}{{ loop.index }}{% endfor %}",
    ):
        answer(json.dumps({"source": source, "data": {}}).encode())
    for language in LANGUAGES:
        money(100, "EUR", language)
        day("2026-01-31", language)


def take_limits() -> None:
    limit(resource.RLIMIT_AS, MEMORY_MAX_BYTES)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, 0)
    limit(resource.RLIMIT_NOFILE, 16)


def answer(request: bytes) -> bytes:
    try:
        return b"+" + fill(json.loads(request)).encode()
    except MemoryError:
        return b"-the template needs too much memory"
    except RecursionError:
        return b"-the template calls itself without end"
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        return f"-{type(error).__name__}: {error.message or error}{where}".encode()
    except Exception as error:
        return f"-{type(error).__name__}: {error}".encode(errors="replace")


def fill(request: dict[str, object]) -> str:
    parts, size = [], 0
    for part in compiled(str(request["source"])).generate(request["data"]):
        size += len(part)
        if size > HTML_MAX_CHARACTERS:
            raise ValueError(f"the document holds more than {HTML_MAX_CHARACTERS} characters")
        parts.append(part)
    return "".join(parts)


@lru_cache(maxsize=TEMPLATES_KEPT)
def compiled(source: str) -> Template:
    """Compiling costs more than filling. A template keeps nothing of one document for the next."""
    environment = ImmutableSandboxedEnvironment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters.update(FILTERS)
    return environment.from_string(source)


def read_frame(source: BinaryIO) -> bytes | None:
    head = source.read(4)
    if len(head) < 4:
        return None
    return source.read(struct.unpack(">I", head)[0])


def write_frame(sink: BinaryIO, data: bytes) -> None:
    sink.write(struct.pack(">I", len(data)) + data)
    sink.flush()


if __name__ == "__main__":
    main()
