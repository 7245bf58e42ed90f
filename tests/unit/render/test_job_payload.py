"""What is stored of a document decides its bytes and its identity, no less and no more."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from quire.jobs.domain.job_key import job_key_of
from quire.kernel import canonical_json
from quire.render.domain.job_payload import RenderJob
from quire.render.domain.render_options import RenderOptions

JOB = RenderJob("invoice", "1.0", "a" * 64, "chromium-1", {"number": 7})


def key_of(job: RenderJob, tenant: str = "acme") -> bytes:
    return job_key_of(tenant, "render.pdf", canonical_json(job.to_payload()), {})


@pytest.mark.parametrize(
    "job",
    [
        JOB,
        replace(JOB, options=RenderOptions(paper="A5", landscape=True, title="T", tagged=True)),
        replace(JOB, options=RenderOptions(landscape=False)),
        replace(JOB, html="<p>raw", data={}),
    ],
)
def test_stored_document_comes_back_as_it_was(job: RenderJob) -> None:
    assert RenderJob.from_payload(json.loads(json.dumps(job.to_payload()))) == job


def test_options_left_alone_are_not_stored() -> None:
    assert JOB.to_payload()["options"] == {}
    assert replace(JOB, options=RenderOptions(landscape=False)).to_payload()["options"] == {
        "landscape": False
    }


def test_everything_that_changes_the_bytes_changes_the_identity() -> None:
    changes: dict[str, Any] = {
        "template_name": "receipt",
        "template_version": "1.1",
        "template_hash": "b" * 64,
        "fingerprint": "chromium-2",
        "data": {"number": 8},
        "options": RenderOptions(footer="x"),
        "html": "<p>",
    }
    assert changes.keys() == {field.name for field in fields(RenderJob)}
    keys = {key_of(JOB), *(key_of(replace(JOB, **{name: value})) for name, value in changes.items())}
    assert len(keys) == len(changes) + 1


def test_spelling_and_order_do_not_change_the_identity_and_the_tenant_does() -> None:
    one, other = replace(JOB, data={"a": 1, "b": 2.0}), replace(JOB, data={"b": 2, "a": 1})
    assert key_of(one) == key_of(other)
    assert key_of(JOB, "acme") != key_of(JOB, "zeta")


@pytest.mark.parametrize("payload", [{}, {"template_name": "x"}, JOB.to_payload() | {"surprise": 1}])
def test_foreign_payload_is_not_decoded(payload: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        RenderJob.from_payload(payload)
