from __future__ import annotations

import pytest

from quire.kernel import ForbiddenError
from quire.runtime.auth import ROLES, Principal, Requirement, Role, requirement_of, requires


def principal(role: Role = "user", scopes: frozenset[str] = frozenset()) -> Principal:
    return Principal(token_id="t", user="ada/lovelace", tenant_id="acme", role=role, scopes=scopes)


def test_each_role_may_do_what_the_lesser_ones_may() -> None:
    for index, role in enumerate(ROLES):
        assert [principal(role).has_role(needed) for needed in ROLES] == [
            position <= index for position in range(len(ROLES))
        ]


def test_missing_role_or_scope_is_forbidden() -> None:
    with pytest.raises(ForbiddenError) as role:
        Requirement("admin").check(principal("operator"))
    with pytest.raises(ForbiddenError) as scope:
        Requirement("operator", "platform").check(principal("admin"))
    assert (role.value.code, scope.value.code) == ("ROLE_REQUIRED", "SCOPE_REQUIRED")
    assert scope.value.detail == "this needs the role operator and the scope platform"
    Requirement("admin").check(principal("admin"))
    Requirement("user", "platform").check(principal(scopes=frozenset({"platform"})))


def test_use_case_checks_the_caller_that_it_is_given_by_place_or_by_name() -> None:
    done: list[str] = []

    @requires("operator", scope="platform")
    def stop(name: str, caller: Principal) -> None:
        done.append(name)

    able = principal("admin", frozenset({"platform"}))
    stop("one", able)
    stop(name="two", caller=able)
    for call in (lambda: stop("three", principal("admin")), lambda: stop(name="four", caller=principal())):
        with pytest.raises(ForbiddenError):
            call()
    assert done == ["one", "two"]
    assert requirement_of(stop) == Requirement("operator", "platform")


def test_use_case_that_declares_nothing_serves_no_route() -> None:
    def silent(caller: Principal) -> None: ...

    with pytest.raises(TypeError, match="silent"):
        requirement_of(silent)


def test_identity_is_the_user_within_the_tenant_whatever_the_token() -> None:
    assert principal().id == "acme/ada/lovelace"
