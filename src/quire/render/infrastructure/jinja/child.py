"""The process that runs template code: no rights, no system calls but those of computing, little memory. Takes framed
requests on standard input, answers on standard output, and imports nothing of Quire but its filters and its cell."""

from __future__ import annotations

import json
import resource
import struct
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from babel.localedata import locale_identifiers
from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from quire.render.infrastructure.jinja.filters import FILTERS, day, money
from quire.runtime import seccomp
from quire.runtime.isolation import give_up_rights, limit

MEMORY_MAX_BYTES = 512 * 1024 * 1024
HTML_MAX_CHARACTERS = 8_000_000
TEMPLATES_KEPT = 32
LANGUAGES = ("en", "tr", "ru", "de", "fr", "es", "it", "nl", "pl", "pt", "uk")
# Before an answer: filled, failed, or another process is needed that has loaded this language.
FILLED, FAILED, LANGUAGE_WANTED = b"+", b"-", b"?"


def main() -> None:
    """The arguments are languages to load beside the usual ones."""
    warm_up(sys.argv[1:])
    take_limits()
    give_up_rights()
    seccomp.confine()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    write_frame(sink, b"ready")
    while (request := read_frame(source)) is not None:
        write_frame(sink, answer(request))


def warm_up(more_languages: Sequence[str]) -> None:
    """Everything that is read late by nature: language data, and what Jinja imports to describe an error. Afterwards
    the process can open no file."""
    for source in (
        "{{ x }}",
        "{% if %}",
        "{{ 1 | money('EUR') }}{% for i in [1] %}{{ loop.index }}{% endfor %}",
    ):
        answer(json.dumps({"source": source, "data": {}}).encode())
    # Which languages there are, and then what they say: all of them would take 200 MB.
    locale_identifiers()
    for language in (*LANGUAGES, *more_languages):
        money(100, "EUR", language)
        day("2026-01-31", language)


def take_limits() -> None:
    limit(resource.RLIMIT_AS, MEMORY_MAX_BYTES)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, 0)
    limit(resource.RLIMIT_NOFILE, 16)


def answer(request: bytes) -> bytes:
    try:
        return FILLED + fill(json.loads(request)).encode()
    except MemoryError:
        return FAILED + b"the template needs too much memory"
    except RecursionError:
        return FAILED + b"the template calls itself without end"
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        return FAILED + f"{type(error).__name__}: {error.message or error}{where}".encode()
    except PermissionError as error:
        # Babel alone opens files here, one for each language.
        return LANGUAGE_WANTED + Path(str(error.filename)).stem.encode()
    except Exception as error:
        return FAILED + f"{type(error).__name__}: {error}".encode(errors="replace")


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
