"""A template pack: what a business fills in to get a document. Read from `templates/{name}/{version}/`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,2}")


@dataclass(frozen=True, slots=True)
class Manifest:
    title: str
    description: str
    paper: str = "A4"
    landscape: bool = False
    margin: str = "20mm 18mm 22mm 18mm"
    javascript: bool = False
    facturx_profile: str | None = None
    language: str = "en"


# Read once and kept, so one is equal to itself alone: a key for what is made from it.
@dataclass(frozen=True, slots=True, eq=False)
class TemplatePack:
    name: str
    version: str
    manifest: Manifest
    source: str
    """`template.html`, Jinja2."""
    schema: Mapping[str, object]
    sample: Mapping[str, object]
    assets: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)
    """Other files of the pack by their path inside it: bytes and content type."""
    content_hash: str = ""
    """Over every file of the pack, so that an edited pack is another identity of work."""


def version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
