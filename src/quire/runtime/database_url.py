"""A database's URL as other tools write it. Those of the Node world name the schema `?schema=public`; to Postgres
that is no setting, and `search_path` is the one that means it."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit


def for_postgres(url: str) -> str:
    parts = urlsplit(url)
    settings = parse_qsl(parts.query, keep_blank_values=True)
    if not any(name == "schema" for name, _ in settings):
        return url
    named = [("search_path" if name == "schema" else name, value) for name, value in settings]
    return urlunsplit(parts._replace(query=urlencode(named)))
