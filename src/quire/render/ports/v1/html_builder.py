"""Fills a template. Template code is not trusted: it runs in a child process with limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from quire.render.domain.template_pack import TemplatePack


class HtmlBuilder(Protocol):
    async def build(
        self, pack: TemplatePack, data: Mapping[str, object], timeout_seconds: float = 5.0
    ) -> str:
        """SHALL escape every value, SHALL raise TemplateError for whatever the template does wrong (undefined name,
        syntax, too slow, too much output), and SHALL leave this process unharmed."""
        ...

    async def close(self) -> None: ...
