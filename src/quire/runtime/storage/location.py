"""`QUIRE_STORAGE_URL`, read: `file:PATH` or `s3://bucket?endpoint=URL&public=URL&region=R&prefix=P`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from quire.runtime.settings import SettingsError
from quire.runtime.storage.errors import StorageKeyError
from quire.runtime.storage.keys import checked_prefix

S3_OPTIONS = {"endpoint", "public", "region", "prefix"}
DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True)
class DiskLocation:
    root: Path


@dataclass(frozen=True)
class S3Location:
    bucket: str
    endpoint: str | None = None
    region: str = DEFAULT_REGION
    prefix: str = ""
    # Where clients reach the same server, when that is not where we do.
    public: str | None = None


def parse_location(url: str) -> DiskLocation | S3Location:
    parts = urlsplit(url)
    if parts.scheme == "file":
        return _disk(parts)
    if parts.scheme == "s3":
        return _s3(parts)
    raise _invalid("it begins with file: or s3:")


def _disk(parts: SplitResult) -> DiskLocation:
    if parts.netloc or parts.query or not parts.path:
        raise _invalid("file: is followed by a path alone, relative or absolute")
    return DiskLocation(Path(unquote(parts.path)))


def _s3(parts: SplitResult) -> S3Location:
    options = dict(parse_qsl(parts.query))
    if not parts.netloc or "@" in parts.netloc or parts.path not in {"", "/"}:
        raise _invalid("s3:// is followed by the bucket alone; credentials come from AWS_* names")
    if unknown := options.keys() - S3_OPTIONS:
        raise _invalid(f"unknown options {', '.join(sorted(unknown))}")
    for name in ("endpoint", "public"):
        if name in options and urlsplit(options[name]).scheme not in {"http", "https"}:
            raise _invalid(f"{name} is an http or https URL")
    return S3Location(
        parts.netloc,
        options.get("endpoint"),
        options.get("region", DEFAULT_REGION),
        _prefix(options.get("prefix", "")),
        options.get("public"),
    )


def _prefix(prefix: str) -> str:
    """Ends with a slash, so that a key never grows together with it."""
    try:
        return checked_prefix(prefix.removesuffix("/") + "/") if prefix else ""
    except StorageKeyError as error:
        raise _invalid(f"the prefix: {error.detail}") from None


def _invalid(detail: str) -> SettingsError:
    return SettingsError(f"QUIRE_STORAGE_URL: {detail}")
