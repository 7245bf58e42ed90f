"""The same bytes whatever came before, typed failures in time, and a pool that is well after each of them."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.support.other_browser import INSTALLED, other_browser
from tests.support.printing import (
    SENTENCE,
    complaints_of,
    eventually,
    fonts_of,
    invoice,
    open_directory,
    request,
    text_of,
    words_of,
)

from quire.kernel import QuireError
from quire.render.domain.errors import (
    BrowserLaunchError,
    NavigationTimeoutError,
    OtherRendererError,
    TemplateError,
    UnsupportedPlatformError,
)
from quire.render.infrastructure.chromium import ChromiumOptions, ChromiumPrinter
from quire.render.infrastructure.chromium.fingerprint import installed_fingerprint
from quire.render.infrastructure.chromium.font_set import font_files
from quire.render.infrastructure.chromium.launch_script import NICENESS
from quire.render.infrastructure.chromium.process_session import ProcessSession
from quire.render.ports.v1.page_printer import Asset, PrintRequest

pytestmark = pytest.mark.asyncio(loop_scope="module")
_keys = (f"key-{number}" for number in itertools.count())
# Where time is not what a test is about, a busy machine may take it.
UNHURRIED: dict[str, Any] = {"launch_seconds": 90.0, "probe_seconds": 20.0, "close_seconds": 20.0}


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def printer(directory: Path) -> AsyncIterator[ChromiumPrinter]:
    printer = ChromiumPrinter(ChromiumOptions(directory=directory))
    yield printer
    await printer.close()
    assert list(directory.iterdir()) == []


async def bytes_of(printer: ChromiumPrinter, asked: PrintRequest) -> bytes:
    return (await printer.print_pdf(asked)).data


# The same bytes


@pytest.mark.parametrize("tagged", [False, True])
async def test_fresh_reused_and_restarted_pages_print_the_same_bytes(
    printer: ChromiumPrinter, directory: Path, tagged: bool, tmp_path: Path
) -> None:
    key = next(_keys)
    asked = request(invoice(), tagged=tagged)
    printed = [await bytes_of(printer, asked) for _ in range(2)]
    printed += [await bytes_of(printer, replace(asked, reuse_key=key)) for _ in range(3)]
    await bytes_of(printer, request(invoice(200), tagged=True, key=key))
    printed.append(await bytes_of(printer, replace(asked, reuse_key=key)))
    other = ChromiumPrinter(ChromiumOptions(directory=directory))
    try:
        printed.append(await bytes_of(other, asked))
    finally:
        await other.close()
    assert len(set(printed)) == 1
    assert complaints_of(printed[0], tmp_path) == ""
    assert (b"/StructTreeRoot" in printed[0]) == tagged


async def test_documents_printed_at_once_do_not_mix(printer: ChromiumPrinter) -> None:
    alone = [await bytes_of(printer, request(f"<!doctype html><h1>{n}</h1>")) for n in range(6)]
    together = await asyncio.gather(
        *(bytes_of(printer, request(f"<!doctype html><h1>{n}</h1>", key="shared")) for n in range(6))
    )
    assert together == alone


@pytest.mark.parametrize(
    "earlier",
    [
        """<!doctype html><meta http-equiv="Content-Security-Policy" content="img-src 'none'">""",
        "<!doctype html><style title='other'>p { color: blue }</style><p>x",
        "<html><body bgcolor=red><base href='https://elsewhere.invalid/'><p>quirks mode",
        "<!doctype html><input autofocus><p>x",
        "<!doctype html><p>x<img src='missing.png'>",
        "<!doctype html><title>Other</title><link rel=stylesheet title=other href=missing.css>",
        "<!doctype html><div><template shadowrootmode=open><input autofocus></template></div>",
        "<!doctype html><html lang=tr><meta name=referrer content=origin><style>@page { size: A5 }</style>",
    ],
)
async def test_what_an_earlier_document_set_does_not_reach_a_later_one_with_its_key(
    printer: ChromiumPrinter, earlier: str
) -> None:
    key = next(_keys)
    square = "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="
    later = request(
        "<!doctype html><style title=mine>p { color: red } input:focus { outline: 9px solid red }</style>"
        f"<p>Text <input autofocus><img width=50 src='{square}'><a href='page'>link</a>"
    )
    fresh = await bytes_of(printer, later)
    await printer.print_pdf(request(earlier, key=key))
    assert await bytes_of(printer, replace(later, reuse_key=key)) == fresh


def drawing(colour: str) -> Asset:
    return Asset(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" '
        f'fill="{colour}"/></svg>'.encode(),
        "image/svg+xml",
    )


async def test_an_asset_that_changed_under_its_name_is_seen(printer: ChromiumPrinter) -> None:
    key = next(_keys)
    asked = request("<!doctype html><img src='logo.svg'>", key=key, assets={"logo.svg": drawing("red")})
    red = await bytes_of(printer, asked)
    blue = await bytes_of(printer, replace(asked, assets={"logo.svg": drawing("blue")}))
    assert blue != red
    assert blue == await bytes_of(
        printer, replace(asked, assets={"logo.svg": drawing("blue")}, reuse_key=None)
    )


async def test_script_sees_one_moment_and_one_sequence_of_random_numbers(printer: ChromiumPrinter) -> None:
    html = """<!doctype html><p id=p></p><script>
    const says = [Date.now(), new Date().toISOString(), Date(), Math.random(), crypto.randomUUID(),
      crypto.getRandomValues(new Uint32Array(2)), performance.now(), new Intl.DateTimeFormat("en").format(),
      typeof Worker, typeof SharedWorker, new Date(5).getTime(), new Date() instanceof Date];
    quireReady = new Promise(requestAnimationFrame).then((at) => { p.textContent = says.concat(at).join(" ") });
    </script>"""
    first = await printer.print_pdf(request(html, script=True))
    second = await printer.print_pdf(request(html, script=True))
    assert first.data == second.data
    text = " ".join(text_of(first.data).split())
    assert text.startswith("946684800000 2000-01-01T00:00:00.000Z Sat Jan 01 2000 00:00:00 GMT+0000")
    assert text.endswith("1/1/2000 undefined undefined 5 true 0")


# One pixel, red and blue in turns of a hundredth of a second, for ever.
BLINKING = bytes.fromhex(
    "47494638396101000100f00000ff00000000ff21ff0b4e45545343415045322e30030100000021f90404010000002c"
    "000000000100010000020244010021f90404010000002c00000000010001000002024c01003b"
)


@pytest.mark.parametrize(
    "moving",
    [
        "<style>@keyframes k { to { margin-left: 300px } } p { animation: k 9s infinite }</style><p>x",
        "<style>@keyframes k { to { margin-left: 300px } } p { animation: k 9s forwards }</style><p>x",
        "<svg><rect width=9 height=9><animate attributeName=x to=90 dur=9s fill=freeze /></rect></svg>",
        "<iframe srcdoc='<style>@keyframes k { to { color: red } } p { animation: k 9s infinite }</style><p>x'>"
        "</iframe>",
        "<marquee>x</marquee>",
        "<img width=99 src='blink.gif'>",
    ],
)
async def test_animations_are_printed_at_rest(printer: ChromiumPrinter, moving: str) -> None:
    assets = {"blink.gif": Asset(BLINKING, "image/gif")}
    asked = request(f"<!doctype html>{moving}", key=next(_keys), assets=assets)
    printed = {await bytes_of(printer, asked) for _ in range(3)}
    # Long enough to load that the animation would have gone on meanwhile, each time by another time.
    slow = request(f"<!doctype html>{moving}<p style='font-size:0'>{'<i>x</i>' * 20_000}", assets=assets)
    again = {await bytes_of(printer, slow) for _ in range(3)}
    assert len(printed) == 1
    assert len(again) == 1


@pytest.mark.parametrize("field", ["<input autofocus>", "<p contenteditable autofocus>x", "<input id=i>"])
async def test_a_focused_field_is_printed_the_same_at_any_moment(
    printer: ChromiumPrinter, field: str
) -> None:
    """Its caret blinks twice a second, and paper would show it."""
    printed = set()
    for milliseconds in (0, 300, 700, 1200):
        wait = f"quireReady = new Promise((done) => setTimeout(done, {milliseconds}))"
        html = f"<!doctype html>{field}<script>globalThis.i?.focus(); {wait}</script>"
        printed.add(await bytes_of(printer, request(html, script=True)))
    assert len(printed) == 1


# What is on the page


async def test_relative_urls_name_assets_in_memory(printer: ChromiumPrinter, tmp_path: Path) -> None:
    font = next(path for path in font_files() if path.name == "SourceSerif4-Bold.ttf").read_bytes()
    html = (
        """<!doctype html><link rel=stylesheet href="./css/print.css?v=1"><p>Text<img src="i%20mg/ç.svg">"""
    )
    style = b'@font-face { font-family: Own; src: url(../own.ttf) } @media print { p { font-family: "Own" } }'
    assets = {
        "css/print.css": Asset(style, "text/css"),
        "own.ttf": Asset(font, "font/ttf"),
        "i mg/ç.svg": drawing("red"),
    }
    printed = await printer.print_pdf(request(html, assets=assets))
    assert printed.blocked_urls == ()
    assert "SourceSerif4-Bold" in fonts_of(printed.data, tmp_path)
    without = await printer.print_pdf(
        request(html, assets={k: assets[k] for k in ("css/print.css", "own.ttf")})
    )
    assert without.blocked_urls == ("https://quire.invalid/i%20mg/%C3%A7.svg",)
    assert without.data != printed.data


async def test_only_bundled_fonts_are_used(printer: ChromiumPrinter, tmp_path: Path) -> None:
    families = ("DejaVu Sans", "Arial", "Times", "monospace", "sans-serif", "No Such Family")
    html = "".join(f'<p style="font-family: {name!r}">ğış ЖЩ ₺ ₽</p>' for name in families)
    fonts = fonts_of(await bytes_of(printer, request(f"<!doctype html>{html}")), tmp_path)
    used = {line.split()[0].partition("+")[2].partition("-")[0] for line in fonts.splitlines()[2:]}
    assert used <= {"Inter", "SourceSerif4", "JetBrainsMono", "LiberationSans"}
    assert "LiberationSans" in used


async def test_turkish_and_russian_text_can_be_read_back(printer: ChromiumPrinter) -> None:
    text = text_of(await bytes_of(printer, request(invoice(3))))
    assert "Danışmanlık — услуга 2" in text
    assert "₺240.00" in text


async def test_documents_are_printed_at_scale_1_on_the_page_of_their_css_without_margin_and_as_print(
    printer: ChromiumPrinter,
) -> None:
    html = """<!doctype html><style>@page { size: 400pt 300pt } body { margin: 0; font: 10px monospace }
    span { position: absolute } @media screen { .p { display: none } } @media print { .s { display: none } }</style>
    <span class="p" style="left: 0; top: 0">Corner</span><span class="s" style="left: 0; top: 99px">Screen</span>
    <span style="left: 288px; top: 192px">Far</span>"""
    width, height, words = words_of(await bytes_of(printer, request(html)))
    assert (round(width), round(height)) == (400, 300)
    assert set(words) == {"Corner", "Far"}
    corner, far = words["Corner"], words["Far"]
    assert abs(corner[0]) < 1, "no margin"
    assert corner[1] < 5, "no margin"
    # 96 CSS pixels are 72 points.
    assert abs(far[0] - corner[0] - 216) < 0.5
    assert abs(far[1] - corner[1] - 144) < 0.5


async def test_pages_are_counted_and_the_outline_is_written(printer: ChromiumPrinter) -> None:
    html = "<!doctype html>" + "<h1 style='break-after: page'>Part</h1>" * 23
    printed = await printer.print_pdf(replace(request(html), outline=True))
    assert printed.pages == 23
    assert b"/Outlines" in printed.data
    assert 0 < printed.executor_seconds < 30


async def test_a_font_or_image_that_is_not_one_does_not_stop_the_document(printer: ChromiumPrinter) -> None:
    html = (
        "<!doctype html><style>@font-face{font-family:Z;src:url(f)}p{font-family:Z}</style><p>Here<img src=f>"
    )
    printed = await printer.print_pdf(request(html, assets={"f": Asset(b"\0" * 100_000, "font/ttf")}))
    assert "Here" in text_of(printed.data)


# Failures


async def fails(printer: ChromiumPrinter, asked: PrintRequest) -> QuireError:
    """The error, after checking that it came in time and that the pool is well for the next document."""
    before = await bytes_of(printer, request(SENTENCE))
    began_at = time.monotonic()
    with pytest.raises(QuireError) as caught:
        await printer.print_pdf(asked)
    assert asked.timeout_seconds is not None
    assert time.monotonic() - began_at < asked.timeout_seconds + 3
    assert await bytes_of(printer, request(SENTENCE)) == before
    return caught.value


@pytest.mark.parametrize(
    ("html", "script"),
    [
        ("<script>while (true);</script>", True),
        ("<script>setTimeout(() => { while (true); }, 0)</script>", True),
        ("<p>" + "<i></i>" * 1_000_000, False),
        ("<div>" * 100_000, False),
        ("<p style='break-after: page'>x</p>" * 20_000, False),
    ],
    ids=["endless script", "endless timer", "a million nodes", "deep nesting", "twenty thousand pages"],
)
async def test_what_takes_too_long_fails_in_time(printer: ChromiumPrinter, html: str, script: bool) -> None:
    error = await fails(printer, request(f"<!doctype html>{html}", script=script, seconds=2))
    assert isinstance(error, NavigationTimeoutError)
    assert error.retryable


async def test_a_heap_bomb_is_a_crash_that_is_named(printer: ChromiumPrinter) -> None:
    bomb = "<script>const a = []; while (true) a.push(new Array(1e6).fill(Math.random()))</script>"
    error = await fails(printer, request(bomb, script=True))
    assert isinstance(error, BrowserLaunchError)
    assert "out of memory" in error.detail


async def test_a_browser_past_its_memory_limit_is_killed_and_the_reason_named(directory: Path) -> None:
    # Buffers lie outside the script heap, whose own limit would stop the bomb first.
    bomb = "<script>const a = []; while (true) a.push(new Uint8Array(2e7).fill(1))</script>"
    options = ChromiumOptions(
        directory=directory, kill_memory_bytes=600 << 20, recycle_memory_bytes=500 << 20
    )
    printer = ChromiumPrinter(options)
    try:
        error = await fails(printer, request(bomb, script=True))
    finally:
        await printer.close()
    assert isinstance(error, BrowserLaunchError)
    assert "memory limit" in error.detail


@pytest.mark.parametrize(
    ("html", "script"),
    [
        ("<meta http-equiv=refresh content='0;url=about:blank'>", False),
        ("<script>location = 'http://127.0.0.1:9/'</script>", True),
        ("<form id=f action='http://127.0.0.1:9/'></form><script>f.submit()</script>", True),
    ],
)
async def test_a_document_that_leaves_is_refused(printer: ChromiumPrinter, html: str, script: bool) -> None:
    error = await fails(printer, request(f"<!doctype html>{html}", script=script))
    assert isinstance(error, TemplateError)
    assert not error.retryable


@pytest.mark.parametrize(
    "html",
    [
        "<meta http-equiv=refresh content='0;url=chrome://crash'>",
        "<iframe src='chrome://crash'></iframe>",
        "<table>" + "<tr><td colspan=65534 rowspan=65534>x" * 300,
        "<style>@page { size: 100000px 100000px }</style>x",
        "<style>* { animation: k 1s infinite } @keyframes k { to { opacity: 0 } }</style>x",
    ],
)
async def test_odd_documents_are_printed_all_the_same(printer: ChromiumPrinter, html: str) -> None:
    assert (await printer.print_pdf(request(f"<!doctype html>{html}"))).pages >= 1


async def test_limits_on_bytes_and_pages_are_template_errors(directory: Path) -> None:
    options = ChromiumOptions(directory=directory, max_pages=10, max_output_bytes=50_000, max_asset_bytes=10)
    printer = ChromiumPrinter(options)
    try:
        for asked in (
            request("x" * 17_000_000),
            request("ğ" * 5_000_000),
            request("<p style='break-after: page'>x</p>" * 12),
            request("x", assets={"a": Asset(b"x" * 11, "text/plain")}),
            request(invoice(300), tagged=True),
        ):
            assert isinstance(await fails(printer, asked), TemplateError)
        assert (await printer.print_pdf(request("<p style='break-before: page'>x</p>" * 10))).pages == 10
    finally:
        await printer.close()


async def test_no_browser_on_the_machine_is_said_so_and_not_remembered(directory: Path) -> None:
    with open_directory() as own:
        missing = own / "no-browser"
        printer = ChromiumPrinter(ChromiumOptions(executable=missing, directory=own))
        with pytest.raises(UnsupportedPlatformError, match="install chromium"):
            await printer.check()
        missing.write_text("#!/bin/sh\nexit 3\n")
        missing.chmod(0o755)
        with pytest.raises(BrowserLaunchError, match="did not start"):
            await printer.print_pdf(request(SENTENCE))
        missing.write_text('#!/bin/sh\nexec /usr/lib/chromium/chromium-headless-shell "$@"\n')
        try:
            assert (await printer.print_pdf(request(SENTENCE))).pages == 1
        finally:
            await printer.close()
        assert list(own.iterdir()) == [missing]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root prints as somebody else")
async def test_a_directory_the_browser_cannot_enter_is_named(directory: Path) -> None:
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    printer = ChromiumPrinter(ChromiumOptions(directory=closed))
    with pytest.raises(UnsupportedPlatformError, match="cannot enter"):
        await printer.check()
    assert list(closed.iterdir()) == []
    closed.rmdir()


# The pool


async def test_a_page_is_reused_for_its_key_and_closed_otherwise(printer: ChromiumPrinter) -> None:
    await printer.check()
    browser = printer.browsers[0]
    key = next(_keys)
    await printer.print_pdf(request(SENTENCE, key=key))
    await eventually(lambda: browser.jobs_running == 0)
    pages = browser.session.renderers()
    await printer.print_pdf(request(SENTENCE, key=key))
    assert set(browser.session.renderers()) <= set(pages)
    for number in range(8):
        await printer.print_pdf(request(SENTENCE, key=f"{key}-{number}"))
        await printer.print_pdf(request(SENTENCE))
    await eventually(lambda: len(browser.session.renderers()) <= 5)


async def test_a_browser_is_replaced_after_its_share_of_documents(directory: Path) -> None:
    printer = ChromiumPrinter(ChromiumOptions(directory=directory, jobs_per_browser=3))
    leaders = set()
    try:
        for _ in range(3):
            await printer.check()
            first = printer.browsers[0]
            leaders.add(first.session.leader)
            await asyncio.gather(*(printer.print_pdf(request(SENTENCE)) for _ in range(3)))
            await eventually(lambda first=first: not first.session.members())
    finally:
        await printer.close()
    assert len(leaders) == 3


async def test_every_process_of_a_browser_steps_back_behind_who_asks(printer: ChromiumPrinter) -> None:
    await printer.check()
    members = printer.browsers[0].session.members()
    stepped_back = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in members} == {stepped_back}


async def test_a_browser_that_starts_while_others_are_given_back_is_kept(directory: Path) -> None:
    """Giving one back puts the list of browsers in order; one that is just starting must not be lost by that: it would
    print its document, and then run for ever."""
    printer = ChromiumPrinter(ChromiumOptions(directory=directory, browsers=2, pages_per_browser=1))
    try:
        await printer.check()
        first = asyncio.create_task(printer.print_pdf(request(SENTENCE)))
        await eventually(lambda: printer.browsers[0].jobs_running == 1)
        second = asyncio.create_task(printer.print_pdf(request(SENTENCE)))
        await first
        await second
        sessions = [browser.session for browser in printer.browsers]
        assert len(sessions) == 2
    finally:
        await printer.close()
    assert not any(session.members() for session in sessions)


async def test_a_killed_browser_fails_its_document_and_the_next_one_has_another(
    printer: ChromiumPrinter,
) -> None:
    await printer.check()
    session = printer.browsers[0].session
    hanging = asyncio.create_task(printer.print_pdf(request("<script>while (true);</script>", script=True)))
    await eventually(lambda: printer.browsers[0].jobs_running == 1 and len(session.renderers()) > 0)
    os.kill(session.leader, signal.SIGKILL)
    with pytest.raises(BrowserLaunchError, match="died"):
        await asyncio.wait_for(hanging, 10)
    assert (await printer.print_pdf(request(SENTENCE))).pages == 1
    assert printer.browsers[0].session != session
    await eventually(lambda: not session.members())


async def test_a_killed_driver_is_replaced_with_its_browser(printer: ChromiumPrinter) -> None:
    await printer.check()
    session = printer.browsers[0].session
    os.kill(session.driver(), signal.SIGKILL)
    await eventually(lambda: not session.members())
    assert (await printer.print_pdf(request(SENTENCE))).pages == 1


async def test_a_frozen_browser_fails_the_probe_and_is_replaced(printer: ChromiumPrinter) -> None:
    await printer.check()
    session = printer.browsers[0].session
    os.killpg(session.leader, signal.SIGSTOP)
    with pytest.raises(BrowserLaunchError, match="did not answer"):
        await printer.check()
    assert (await printer.print_pdf(request(SENTENCE))).pages == 1
    await eventually(lambda: not session.members())


async def test_cancelling_frees_the_page_and_keeps_the_browser(printer: ChromiumPrinter) -> None:
    await printer.check()
    browser = printer.browsers[0]
    endless = request("<script>while (true);</script>", script=True, seconds=90)
    hanging = asyncio.create_task(printer.print_pdf(endless))
    try:
        await eventually(lambda: bool(looping(browser.session)), 60)
    finally:
        hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    await eventually(lambda: browser.jobs_running == 0 and not looping(browser.session))
    assert (await printer.print_pdf(request(SENTENCE))).pages == 1
    assert printer.browsers[0] is browser


def looping(session: ProcessSession) -> list[int]:
    """Renderers that computed for longer than an empty page needs; a count would take spare ones for them."""
    return [pid for pid in session.renderers() if cpu_seconds(pid) > 0.5]


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_more_documents_than_slots_wait_for_their_turn(directory: Path) -> None:
    printer = ChromiumPrinter(ChromiumOptions(directory=directory, pages_per_browser=1))
    try:
        await printer.check()
        hanging = asyncio.create_task(
            printer.print_pdf(request("<script>while (true);</script>", script=True, seconds=3))
        )
        await asyncio.sleep(0)
        with pytest.raises(NavigationTimeoutError):
            await printer.print_pdf(request(SENTENCE, seconds=0.5))
        waiting = asyncio.create_task(printer.print_pdf(request(SENTENCE)))
        with pytest.raises(NavigationTimeoutError):
            await hanging
        assert (await waiting).pages == 1
    finally:
        await printer.close()


async def test_the_fingerprint_names_browser_and_fonts(printer: ChromiumPrinter) -> None:
    assert printer.fingerprint.startswith("chromium-")
    assert "+fonts-" in printer.fingerprint
    other = ChromiumPrinter(ChromiumOptions(executable=Path("/nonexistent")))
    with pytest.raises(UnsupportedPlatformError):
        _ = other.fingerprint


async def test_a_browser_that_was_upgraded_is_known_by_its_new_fingerprint_from_its_next_start(
    directory: Path,
) -> None:
    with open_directory() as home:
        (home / "other").mkdir(mode=0o755)
        other = other_browser(home / "other")
        link = home / "browser"
        link.symlink_to(INSTALLED)
        before, after = installed_fingerprint(INSTALLED), installed_fingerprint(other)
        printer = ChromiumPrinter(ChromiumOptions(executable=link, directory=directory, **UNHURRIED))
        try:
            assert (
                await printer.print_pdf(replace(request(SENTENCE, seconds=150), fingerprint=before))
            ).pages == 1
            (home / "new").symlink_to(other)
            (home / "new").rename(link)
            assert printer.fingerprint == after
            assert printer.offers(before), "the browser that runs is still the old one"
            assert printer.offers(after)
            assert (
                await printer.print_pdf(replace(request(SENTENCE, seconds=150), fingerprint=before))
            ).pages == 1
            assert (
                await printer.print_pdf(replace(request(SENTENCE, seconds=150), fingerprint=after))
            ).pages == 1
            assert [browser.fingerprint for browser in printer.browsers] == [after]
            assert not printer.offers(before)
            with pytest.raises(OtherRendererError, match=re.escape(before)):
                await printer.print_pdf(replace(request(SENTENCE, seconds=150), fingerprint=before))
        finally:
            await printer.close()


async def test_a_recycled_browser_says_which_version_it_is_now(directory: Path) -> None:
    with open_directory() as home:
        (home / "other").mkdir(mode=0o755)
        link = home / "browser"
        link.symlink_to(other_browser(home / "other"))
        options = ChromiumOptions(executable=link, directory=directory, jobs_per_browser=1, **UNHURRIED)
        printer = ChromiumPrinter(options)
        try:
            await printer.check()
            first = printer.browsers[0]
            (home / "new").symlink_to(INSTALLED)
            (home / "new").rename(link)
            assert (await printer.print_pdf(request(SENTENCE, seconds=150))).pages == 1
            await eventually(lambda: not first.session.members())
            await printer.check()
            assert first.fingerprint != printer.browsers[0].fingerprint == installed_fingerprint(INSTALLED)
        finally:
            await printer.close()
