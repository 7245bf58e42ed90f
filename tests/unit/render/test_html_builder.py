"""The template process: fills, escapes, and survives whatever a template does to it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.render.packs import LANGUAGES, NAMES, filled, pack_of, payload

from quire.render.domain.errors import TemplateError
from quire.render.domain.template_pack import Manifest, TemplatePack
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.runtime import seccomp

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
    os.kill(only_template_process(), signal.SIGKILL)
    assert await works(builder)


CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def is_template_process(pid: str) -> bool:
    return b"jinja.child" in Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.skipif(not seccomp.is_available(), reason="the numbers of this machine's calls are not known")
async def test_template_process_is_confined_and_needs_no_namespace(builder: JinjaHtmlBuilder) -> None:
    assert await works(builder)
    child = only_template_process()
    status = Path(f"/proc/{child}/status").read_text()
    assert ("Seccomp:\t2\n" in status, "NoNewPrivs:\t1\n" in status) == (True, True)
    assert [
        kind for kind in ("net", "user", "mnt") if namespace(child, kind) != namespace("self", kind)
    ] == []


async def test_shipped_templates_are_filled_by_the_confined_process(builder: JinjaHtmlBuilder) -> None:
    for name in NAMES:
        for language in LANGUAGES:
            data = payload(name, language)
            assert await builder.build(pack_of(name), data, 20) == filled(name, data), (name, language)


async def test_languages_of_own_templates_are_loaded_when_they_are_asked_for(
    builder: JinjaHtmlBuilder,
) -> None:
    """The process can open no file once it runs: one that has loaded them takes its place."""
    amounts = pack("{% for one in languages %}{{ 123456 | money('EUR', one) }};{% endfor %}")
    filled = await builder.build(amounts, {"languages": ["sv", "de_AT", "en"]}, 20)
    assert filled == "1\xa0234,56\xa0€;€\xa01.234,56;€1,234.56;"
    with pytest.raises(TemplateError, match="xx"):
        await builder.build(amounts, {"languages": ["xx"]}, 20)
    assert await works(builder)


# The process as it is, with one more filter: what template code could do if it broke out of Jinja's sandbox.
BROKEN_OUT = """
import os, socket
from quire.render.infrastructure.jinja import child
def attempt(name):
    acts = {
        "network": lambda: socket.socket(),
        "local network": lambda: socket.socket(socket.AF_UNIX),
        "file": lambda: open("/etc/passwd"),
        "process": os.fork,
        "signal": lambda: os.kill(os.getppid(), 0),
    }
    try:
        acts[name]()
    except OSError as error:
        return error.errno
    return "done"
child.FILTERS["attempt"] = attempt
child.main()
"""


@pytest.mark.skipif(not seccomp.is_available(), reason="the numbers of this machine's calls are not known")
def test_code_that_breaks_out_of_a_template_reaches_no_network_file_or_process() -> None:
    source = "{% for act in acts %}{{ act | attempt }} {% endfor %}"
    acts = ["network", "local network", "file", "process", "signal"]
    request = json.dumps({"source": source, "data": {"acts": acts}}).encode()
    done = subprocess.run(
        [sys.executable, "-P", "-c", BROKEN_OUT],
        input=struct.pack(">I", len(request)) + request,
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = done.stdout.partition(b"ready")[2][4:]
    assert answer.decode() == "+" + f"{errno.EPERM} " * len(acts), done.stderr.decode()


def only_template_process() -> int:
    (child,) = {int(pid) for pid in CHILDREN.read_text().split() if is_template_process(pid)}
    return child


def namespace(pid: int | str, kind: str) -> str:
    return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
