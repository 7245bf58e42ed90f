"""Who calls, and what they may do. Pure: it knows nothing of tokens, HTTP or the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["user", "operator", "admin"]

# Each role may do what the ones before it may.
ROLES: tuple[Role, ...] = ("user", "operator", "admin")

# Manages tenants and acts across them; only the first admin token has it by default.
PLATFORM_SCOPE = "platform"
# Documents from HTML as sent, instead of from a template.
RAW_HTML_SCOPE = "raw_html"
# Every scope there is: a token gets no other, since a misspelt one would be a right that never works.
SCOPES: tuple[str, ...] = (PLATFORM_SCOPE, RAW_HTML_SCOPE)


@dataclass(frozen=True, slots=True)
class Principal:
    token_id: str
    user: str
    tenant_id: str
    role: Role
    scopes: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """Stable across token rotation: the same user of the same tenant is the same caller."""
        return f"{self.tenant_id}/{self.user}"

    def has_role(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)

    def has_scope(self, scope: str) -> bool:
        return scope in self.scopes
