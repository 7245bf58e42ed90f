"""The payload of a `render.pdf` job: everything that decides the document's bytes, resolved when it is accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from quire.render.domain.render_options import RenderOptions

_OPTIONS = {each.name: each.default for each in fields(RenderOptions)}


@dataclass(frozen=True, slots=True)
class RenderJob:
    template_name: str
    template_version: str
    template_hash: str
    fingerprint: str
    data: Mapping[str, object]
    options: RenderOptions = field(default_factory=RenderOptions)
    html: str | None = None
    """Raw HTML instead of a template, for principals that may."""

    def to_payload(self) -> dict[str, object]:
        """Not `asdict`: it would copy all of the data."""
        payload = {name: getattr(self, name) for name in self.__slots__}
        chosen = ((name, getattr(self.options, name)) for name in _OPTIONS)
        payload["options"] = {name: value for name, value in chosen if value is not _OPTIONS[name]}
        return {name: value for name, value in payload.items() if value is not None}

    @classmethod
    def from_payload(cls, payload: Mapping[str, object]) -> RenderJob:
        values = dict(payload)
        options = values.pop("options", {})
        return cls(options=RenderOptions(**options), **values)  # type: ignore[arg-type]
