"""The template process: fills, escapes, and survives whatever a template does to it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quire.render.domain.errors import TemplateError
from quire.render.domain.template_pack import Manifest, TemplatePack
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder

HELLO = "<p>{{ name }}</p>"
# What a template may try, and what is said of it.
MISDEEDS = {
    "{{ missing }}": "missing",
    "line\n{% if %}": "line 2",
    "{{ name.__class__.__mro__ }}": "unsafe|undefined",
    "{{ ''.__class__ }}": "unsafe|undefined",
    "{{ self.__init__.__globals__ }}": "unsafe|undefined",
    "{{ cycler.__init__.__globals__.os }}": "unsafe|undefined",
    "{% include '/etc/passwd' %}": "loader",
    "{{ range(999999999) | list | length }}": "Range|memory|large",
    "{{ 'x' * 2000000000 }}": "memory|MemoryError",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "without end|recursion",
    "{% for i in range(90000) %}{{ 'x' * 1000 }}{% endfor %}": "more than",
    "{{ name.append(1) }}": "unsafe|no attribute|undefined",
    "{{ 1 | open }}": "open",
}


def pack(source: str) -> TemplatePack:
    return TemplatePack("note", "1.0", Manifest("Note", "A note"), source, {}, {})


@pytest.fixture
async def builder() -> AsyncIterator[JinjaHtmlBuilder]:
    builder = JinjaHtmlBuilder()
    yield builder
    await builder.close()


async def works(builder: JinjaHtmlBuilder) -> bool:
    return await builder.build(pack(HELLO), {"name": "Ann"}, 20) == "<p>Ann</p>"


async def test_values_are_escaped_and_never_filled_again(builder: JinjaHtmlBuilder) -> None:
    hostile = "<script>{{ 7 * 7 }}</script>\"'&"
    filled = await builder.build(pack(HELLO), {"name": hostile}, 20)
    assert filled == "<p>&lt;script&gt;{{ 7 * 7 }}&lt;/script&gt;&#34;&#39;&amp;</p>"


async def test_template_that_does_wrong_fails_alone(builder: JinjaHtmlBuilder) -> None:
    """One process for all of them: each leaves it fit for the next."""
    for source, said in MISDEEDS.items():
        with pytest.raises(TemplateError, match=f"(?i){said}"):
            await builder.build(pack(source), {"name": "Ann"}, 20)
        assert await works(builder), source


async def test_template_without_end_is_cut_off_and_the_next_is_filled(builder: JinjaHtmlBuilder) -> None:
    assert await works(builder)
    endless = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"
    with pytest.raises(TemplateError, match="not filled within"):
        await builder.build(pack(endless), {}, 0.3)
    assert await works(builder)


async def test_callers_share_the_process_and_each_gets_their_own(builder: JinjaHtmlBuilder) -> None:
    names = [f"n{number}" for number in range(40)]
    filled = await asyncio.gather(*(builder.build(pack(HELLO), {"name": name}, 30) for name in names))
    assert filled == [f"<p>{name}</p>" for name in names]


async def test_cancelled_caller_leaves_no_answer_for_the_next(builder: JinjaHtmlBuilder) -> None:
    assert await works(builder)
    endless = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"
    task = asyncio.create_task(builder.build(pack(endless), {}, 30))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await works(builder)


async def test_process_that_others_killed_costs_no_document(builder: JinjaHtmlBuilder) -> None:
    assert await works(builder)
    (child,) = {int(pid) for pid in CHILDREN.read_text().split() if is_template_process(pid)}
    os.kill(child, signal.SIGKILL)
    assert await works(builder)


CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def is_template_process(pid: str) -> bool:
    return b"jinja.child" in Path(f"/proc/{pid}/cmdline").read_bytes()
