from __future__ import annotations

import pytest

from quire.kernel import ForbiddenError
from quire.runtime.auth import ROLES, Principal, Role, require_role, require_scope


def principal(role: Role = "user", scopes: frozenset[str] = frozenset()) -> Principal:
    return Principal(token_id="t", user="ada/lovelace", tenant_id="acme", role=role, scopes=scopes)


def test_each_role_may_do_what_the_lesser_ones_may() -> None:
    for index, role in enumerate(ROLES):
        assert [principal(role).has_role(needed) for needed in ROLES] == [
            position <= index for position in range(len(ROLES))
        ]


def test_missing_role_or_scope_is_forbidden() -> None:
    with pytest.raises(ForbiddenError) as role:
        require_role(principal("operator"), "admin")
    with pytest.raises(ForbiddenError) as scope:
        require_scope(principal("admin"), "platform")
    assert (role.value.code, scope.value.code) == ("ROLE_REQUIRED", "SCOPE_REQUIRED")
    require_role(principal("admin"), "admin")
    require_scope(principal(scopes=frozenset({"platform"})), "platform")


def test_identity_is_the_user_within_the_tenant_whatever_the_token() -> None:
    assert principal().id == "acme/ada/lovelace"
