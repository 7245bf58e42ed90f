"""The payload of a `render.pdf` job: everything that decides the document's bytes, resolved when it is accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

from quire.render.domain.render_options import RenderOptions

_DEFAULTS = asdict(RenderOptions())


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
        # Not `asdict`: it would copy all of the data.
        payload = {each.name: getattr(self, each.name) for each in fields(self)}
        payload["options"] = {k: v for k, v in asdict(self.options).items() if v is not _DEFAULTS[k]}
        return {key: value for key, value in payload.items() if value is not None}

    @classmethod
    def from_payload(cls, payload: Mapping[str, object]) -> RenderJob:
        values = dict(payload)
        options = values.pop("options", {})
        return cls(options=RenderOptions(**options), **values)  # type: ignore[arg-type]
