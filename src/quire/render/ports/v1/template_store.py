"""Where template packs come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quire.render.domain.template_pack import TemplatePack


class TemplateStore(Protocol):
    def names(self) -> Sequence[str]:
        """SHALL list only packs that the allowlist names."""
        ...

    def pack(self, name: str, version: str | None = None) -> TemplatePack:
        """The newest version when none is given. SHALL raise TemplateError for a pack that is not on the allowlist,
        does not exist, or is not whole."""
        ...

    def versions(self, name: str) -> Sequence[str]: ...
