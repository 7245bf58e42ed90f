"""What a hostile document cannot do: reach a network, a file, another document, or outlive its worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio
from tests.support.printing import SENTENCE, eventually, open_directory, request, text_of

import quire
from quire.render.infrastructure.chromium import ChromiumOptions, ChromiumPrinter
from quire.render.infrastructure.chromium.process_session import ProcessSession

pytestmark = pytest.mark.asyncio(loop_scope="module")
NAMESPACES = ("user", "pid", "net")
PROGRAM = Path(__file__).parents[2] / "support" / "print_forever.py"

ELEMENTS = """<!doctype html><html><head>
<link rel=stylesheet href="{u}/css"><link rel=icon href="{u}/icon"><link rel=preload as=image href="{u}/preload">
<link rel=prefetch href="{u}/prefetch"><link rel=preconnect href="{u}"><link rel=dns-prefetch href="{u}">
<link rel=modulepreload href="{u}/modulepreload"><link rel=manifest href="{u}/manifest">
<link rel=prerender href="{u}/prerender"><link rel=alternate href="{u}/alternate">
<script type=speculationrules>{{"prefetch":[{{"urls":["{u}/rules"]}}],"prerender":[{{"urls":["{u}/rules2"]}}]}}</script>
<style>@import url({u}/import); @font-face {{ font-family: F; src: url({u}/font) }}
p {{ font-family: F; background: url({u}/bg); cursor: url({u}/cursor), auto }} li {{ list-style: url({u}/list) }}
p::after {{ content: url({u}/content) }} div {{ mask: url({u}/mask); filter: url({u}/filter#f) }}
div {{ border-image: url({u}/border) 9; shape-outside: url({u}/shape); float: left }}
@page {{ @top-center {{ content: url({u}/margin) }} }} @media print {{ b {{ background: url({u}/print) }} }}</style>
<script src="{u}/script"></script><script type=module src="{u}/module"></script>
</head><body background="{u}/body"><p>text<b>b</b><ul><li>x</ul><div>d</div>
<img src="{u}/img"><img srcset="{u}/srcset 1x"><img loading=lazy src="{u}/lazy"><input type=image src="{u}/input">
<picture><source srcset="{u}/source"><img></picture><video src="{u}/video" poster="{u}/poster" autoplay></video>
<audio src="{u}/audio" autoplay></audio>
<video autoplay><source src="{u}/vsource"><track default src="{u}/track"></video>
<iframe src="{u}/iframe"></iframe><iframe srcdoc="<img src={u}/srcdoc>"></iframe><frame src="{u}/frame">
<object data="{u}/object"></object><embed src="{u}/embed"><applet code="{u}/applet"></applet>
<table background="{u}/table"><tr><td background="{u}/cell">x</table><blockquote cite="{u}/cite">q</blockquote>
<svg><image href="{u}/svgimage"/><use href="{u}/use#x"/><feImage href="{u}/feimage"/>
<foreignObject><img src="{u}/foreign"></foreignObject></svg>
<math><mtext><img src="{u}/math"></mtext></math><a ping="{u}/ping" href="{u}/a">a</a><form action="{u}/form"></form>
<iframe src="data:text/html,<img src={u}/datahtml><meta http-equiv=refresh content=0;url={u}/datarefresh>"></iframe>
<img src='data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"><image href="{u}/insvg"/></svg>'>
<portal src="{u}/portal"></portal><fencedframe src="{u}/fenced"></fencedframe>
{meta}</body></html>"""
REFRESH = '<meta http-equiv=refresh content="0;url={u}/refresh">'
SCRIPT = """<script>
const attempts = [
  () => fetch("{u}/fetch"), () => fetch("{u}/nocors", {{mode: "no-cors", keepalive: true}}),
  () => navigator.sendBeacon("{u}/beacon"), () => new EventSource("{u}/sse"),
  () => new WebSocket("{u}/ws".replace("http", "ws")), () => new WebTransport("{u}/wt".replace("http:", "https:")),
  () => {{ const x = new XMLHttpRequest(); x.open("GET", "{u}/xhr"); x.send() }},
  () => {{ new Image().src = "{u}/image" }}, () => import("{u}/import"),
  () => navigator.serviceWorker.register("{u}/sw"), () => caches.open("c").then((c) => c.add("{u}/cache")),
  () => window.open("{u}/open"), () => new Worker("{u}/worker"), () => new FontFace("f", "url({u}/fontface)").load(),
  () => new PaymentRequest([{{supportedMethods: "{u}/pay"}}],
      {{total: {{label: "", amount: {{currency: "EUR", value: 1}}}}}}),
  () => {{ const l = document.createElement("link"); l.rel = "stylesheet"; l.href = "{u}/dynamic";
      document.head.append(l) }},
  () => {{ const f = document.createElement("iframe"); f.src = URL.createObjectURL(new Blob(
      ["<script>fetch('{u}/blob')</" + "script>"], {{type: "text/html"}})); document.body.append(f) }},
  () => {{ const p = new RTCPeerConnection({{iceServers: [{{urls: "stun:127.0.0.1:{port}"}},
      {{urls: "turn:127.0.0.1:{port}?transport=tcp", username: "u", credential: "c"}}]}});
      p.createDataChannel("c"); p.createOffer().then((o) => p.setLocalDescription(o)) }},
];
for (const attempt of attempts) try {{ Promise.resolve(attempt()).catch(() => 0) }} catch {{}}
globalThis.quireReady = new Promise((done) => setTimeout(done, 1500));
</script>"""
SPELLINGS = (
    "http://127.1:{port}",
    "http://0:{port}",
    "http://2130706433:{port}",
    "http://0x7f.1:{port}",
    "http://0177.0.0.1:{port}",
    "http://[::1]:{port}",
    "http://[::ffff:127.0.0.1]:{port}",
    "http://[2002:7f00:1::]:{port}",
    "http://[64:ff9b::7f00:1]:{port}",
    "http://localhost.:{port}",
    "http://127.0.0.1.nip.io:{port}",
    "http://quire.invalid@127.0.0.1:{port}",
    "HTTP://LOCALHOST:{port}",
    "//127.0.0.1:{port}",
    "http:\\\\127.0.0.1:{port}",
    "http://169.254.169.254",
    "ftp://127.0.0.1:{port}",
)


class Ear(asyncio.DatagramProtocol):
    """Listens on one port, TCP and UDP, and counts who knocks."""

    def __init__(self) -> None:
        self.knocks: list[str] = []
        self.port = 0

    def datagram_received(self, data: bytes, addr: tuple[object, ...]) -> None:
        self.knocks.append("udp")

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.knocks.append("tcp")
        writer.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ear() -> AsyncIterator[Ear]:
    ear = Ear()
    servers = [await asyncio.start_server(ear.answer, "127.0.0.1", 0)]
    ear.port = servers[0].sockets[0].getsockname()[1]
    with suppress(OSError):  # a machine without IPv6, or with the port taken there
        servers.append(await asyncio.start_server(ear.answer, "::1", ear.port))
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: ear, local_addr=("127.0.0.1", ear.port)
    )
    yield ear
    transport.close()
    for server in servers:
        server.close()
        await server.wait_closed()


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def printer(directory: Path) -> AsyncIterator[ChromiumPrinter]:
    # A page of dozens of frames may take long to close on a busy machine, and would take the next one's browser along.
    printer = ChromiumPrinter(ChromiumOptions(directory=directory, close_seconds=20))
    await printer.check()
    yield printer
    await printer.close()


# Network


async def test_the_ear_hears_what_can_reach_it(ear: Ear) -> None:
    """The control: a listener that hears nothing would make every other test here pass."""
    _, writer = await asyncio.open_connection("127.0.0.1", ear.port)
    writer.close()
    await writer.wait_closed()
    await eventually(lambda: "tcp" in ear.knocks)


@pytest.mark.parametrize("refresh", [False, True], ids=["staying", "leaving"])
async def test_no_element_reaches_the_network(printer: ChromiumPrinter, ear: Ear, refresh: bool) -> None:
    ear.knocks.clear()
    u = f"http://127.0.0.1:{ear.port}"
    html = ELEMENTS.format(u=u, meta=REFRESH.format(u=u) if refresh else "")
    printed = await printer.print_pdf(request(html))
    assert "text" in text_of(printed.data)
    assert ear.knocks == []
    assert 30 < len(printed.blocked_urls) <= 50
    assert all(url.startswith(u) for url in printed.blocked_urls)


async def test_every_refused_url_is_reported(printer: ChromiumPrinter, ear: Ear) -> None:
    u = f"http://127.0.0.1:{ear.port}"
    html = (
        f'<!doctype html><link rel=stylesheet href="{u}/css"><style>@import url({u}/import); '
        f'p {{ background: url({u}/bg) }}</style><p>text<img src="{u}/img"><iframe src="{u}/iframe"></iframe>'
        f'<object data="{u}/object"></object><embed src="{u}/embed"><video src="{u}/video"></video>'
        f'<svg><image href="{u}/svgimage"/></svg><iframe srcdoc="<img src={u}/srcdoc>"></iframe><img src="own">'
    )
    printed = await printer.print_pdf(request(html))
    names = ("css", "import", "bg", "img", "iframe", "object", "embed", "video", "svgimage", "srcdoc")
    assert set(printed.blocked_urls) == {*(f"{u}/{name}" for name in names), "https://quire.invalid/own"}


async def test_no_script_reaches_the_network(printer: ChromiumPrinter, ear: Ear) -> None:
    ear.knocks.clear()
    u = f"http://127.0.0.1:{ear.port}"
    html = "<!doctype html><p>text" + SCRIPT.format(u=u, port=ear.port)
    printed = await printer.print_pdf(request(html, script=True))
    assert "text" in text_of(printed.data)
    assert ear.knocks == []
    for name in ("fetch", "xhr", "image", "sse", "dynamic"):
        assert f"{u}/{name}" in printed.blocked_urls
    assert f"ws://127.0.0.1:{ear.port}/ws" in printed.blocked_urls


async def test_no_spelling_of_an_address_reaches_the_network(printer: ChromiumPrinter, ear: Ear) -> None:
    ear.knocks.clear()
    urls = [spelling.format(port=ear.port) for spelling in SPELLINGS]
    html = "".join(f'<img src="{url}/i"><iframe src="{url}/f"></iframe><embed src="{url}/e">' for url in urls)
    printed = await printer.print_pdf(request(f"<!doctype html><p>text</p>{html}"))
    assert "text" in text_of(printed.data)
    assert ear.knocks == []


async def test_reported_urls_are_few_and_short(printer: ChromiumPrinter) -> None:
    html = "".join(f"<img src='http://{n}.invalid/{'x' * 2000}'>" for n in range(200))
    printed = await printer.print_pdf(request(f"<!doctype html>{html}"))
    assert len(printed.blocked_urls) == 50
    assert max(map(len, printed.blocked_urls)) == 300


async def test_the_browser_lives_in_a_network_without_an_address(printer: ChromiumPrinter) -> None:
    await printer.check()
    leader = printer.browsers[0].session.leader
    view = Path(f"/proc/{leader}/net")
    devices = [line.split(":")[0].strip() for line in (view / "dev").read_text().splitlines()[2:]]
    assert set(devices) <= {
        "lo",
        "sit0",
        "tunl0",
        "ip6tnl0",
        "gre0",
        "gretap0",
        "erspan0",
        "ip_vti0",
        "ip6_vti0",
    }
    assert "127.0.0.1" not in (view / "fib_trie").read_text()
    if (view / "if_inet6").exists():
        assert (view / "if_inet6").read_text() == ""
    assert "127.0.0.1" in Path("/proc/net/fib_trie").read_text()


# Sandbox


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def namespace_of(pid: int | str, kind: str) -> str:
    return str(Path(f"/proc/{pid}/ns/{kind}").readlink())


async def test_every_renderer_is_confined_by_the_kernel(printer: ChromiumPrinter) -> None:
    await printer.check()
    session = printer.browsers[0].session
    hanging = [
        asyncio.create_task(
            printer.print_pdf(request("<script>while (true);</script>", script=True, seconds=20))
        )
        for _ in range(2)
    ]
    try:
        # One that is just being made is not confined yet, and has nothing of a document yet.
        await eventually(lambda: renderers_are_confined(session))
    finally:
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


def renderers_are_confined(session: ProcessSession) -> bool:
    found = [renderer_is_confined(pid, session.leader) for pid in session.renderers()]
    return len(found) >= 2 and all(found)


def renderer_is_confined(pid: int, leader: int) -> bool:
    try:
        status = status_of(pid)
        apart = [
            namespace_of(pid, k) not in (namespace_of("self", k), namespace_of(leader, k)) for k in NAMESPACES
        ]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    rights = int(status["CapEff"], 16) | int(status["CapPrm"], 16)
    return all(apart) and (status["Seccomp"], status["NoNewPrivs"], rights) == ("2", "1", 0)


def is_confined(pid: int) -> bool:
    """Raises when it is not. False for one that goes while it is looked at, or has gone and waits to be noticed."""
    try:
        status, network = status_of(pid), namespace_of(pid, "net")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    if status["State"].startswith("Z"):
        return False
    assert status["NoNewPrivs"] == "1"
    assert network != namespace_of("self", "net")
    if os.geteuid() == 0:
        assert set(status["Uid"].split()) == {status["Uid"].split()[0]}
        assert int(status["Uid"].split()[0]) >= 61184
        assert status["Groups"] == ""
    return True


async def test_no_process_of_the_browser_has_rights_or_our_network(printer: ChromiumPrinter) -> None:
    await printer.check()
    session = printer.browsers[0].session
    assert b"--no-sandbox" not in Path(f"/proc/{session.leader}/cmdline").read_bytes()
    await eventually(lambda: not session.renderers())  # those of earlier documents are still going
    seen = [pid for pid in session.members() if is_confined(pid)]
    assert len(seen) >= 4
    assert int(status_of(session.leader)["CapEff"], 16) == 0


async def test_the_browser_is_told_nothing_about_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    with open_directory() as own:
        told, teller = own / "told", own / "teller"
        told.touch()
        told.chmod(0o666)
        teller.write_text(f'#!/bin/sh\nenv >{told}\nexec /usr/lib/chromium/chromium-headless-shell "$@"\n')
        teller.chmod(0o755)
        printer = ChromiumPrinter(ChromiumOptions(executable=teller, directory=own))
        try:
            await printer.check()
        finally:
            await printer.close()
        lines = told.read_text().splitlines()
    assert "TZ=UTC" in lines
    assert "LANG=C.UTF-8" in lines
    assert not any("secret" in line for line in lines)
    assert not any(line.startswith(("PW_", "PYTEST")) for line in lines)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives each browser its own user")
async def test_two_browsers_are_two_users_and_cannot_read_each_other(directory: Path) -> None:
    printers = [ChromiumPrinter(ChromiumOptions(directory=directory)) for _ in range(2)]
    try:
        for printer in printers:
            await printer.check()
        users = {status_of(p.browsers[0].session.leader)["Uid"] for p in printers}
        assert len(users) == 2
        for home in directory.glob("*/profile"):
            assert home.stat().st_mode & 0o077 == 0
    finally:
        for printer in printers:
            await printer.close()


# Files


@contextmanager
def secret_file(directory: Path) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(dir=directory, suffix=".html") as file:
        file.write(b"<p>SECRETMARK</p>")
        file.flush()
        Path(file.name).chmod(0o644)
        yield Path(file.name)


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
async def test_no_file_is_read_by_any_spelling(
    printer: ChromiumPrinter, directory: Path, script: bool
) -> None:
    with secret_file(directory) as secret:
        spellings = (
            f"file://{secret}",
            f"FILE://{secret}",
            f"File://localhost{secret}",
            f"file:{secret}",
            f"\\\\localhost{secret}",
            f"view-source:file://{secret}",
            f"filesystem:file://{secret}",
            f"..{secret}",
            f"https://quire.invalid/../../../../..{secret}",
            f"blob:file://{secret}",
            f"javascript:location='file://{secret}'",
            f"chrome://resources/../../{secret}",
        )
        html = "".join(
            f'<iframe src="{url}"></iframe><object data="{url}"></object><embed src="{url}"><img src="{url}">'
            f'<link rel=stylesheet href="{url}"><link rel=import href="{url}">'
            for url in spellings
        )
        if script:
            html += f"""<script>fetch("file://{secret}").then((r) => r.text()).then((t) => document.body.append(t));
            const x = new XMLHttpRequest(); x.open("GET", "file://{secret}", false);
            try {{ x.send(); document.body.append(x.responseText) }} catch {{}}</script>"""
        printed = await printer.print_pdf(request(f"<!doctype html><body><p>text</p>{html}", script=script))
    text = text_of(printed.data)
    assert "text" in text
    assert "SECRETMARK" not in text
    if not script:
        assert any(url.lower().startswith("file:") for url in printed.blocked_urls)


async def test_entities_in_a_drawing_read_no_file(printer: ChromiumPrinter, directory: Path) -> None:
    with secret_file(directory) as secret:
        drawing = (
            f'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e SYSTEM "file://{secret}">]>'
            '<svg xmlns="http://www.w3.org/2000/svg"><text y="20">&e;drawn</text></svg>'
        )
        printed = await printer.print_pdf(
            request(f"<!doctype html><p>text</p><iframe src='data:image/svg+xml,{drawing}'></iframe>")
        )
    assert "SECRETMARK" not in text_of(printed.data)


# Other documents

WRITE = """
document.cookie = "mark=SECRETMARK; max-age=9999"; localStorage.mark = "SECRETMARK"; window.name = "SECRETMARK";
sessionStorage.mark = "SECRETMARK"; history.replaceState("SECRETMARK", "");
const cache = await caches.open("c"); await cache.put("/x", new Response("SECRETMARK"));
await new Promise((done) => { const open = indexedDB.open("SECRETMARK"); open.onsuccess = open.onerror = done });
const folder = await navigator.storage.getDirectory(); await folder.getFileHandle("SECRETMARK", {create: true});
"""
READ = """
const names = []; for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name);
const cached = await caches.match("/x");
p.textContent = ["found:", document.cookie, localStorage.mark, sessionStorage.mark, window.name, history.state,
  cached && await cached.text(), (await indexedDB.databases()).map((d) => d.name), names].join(" ");
"""


def running(*steps: str) -> str:
    return f"<!doctype html><p id=p></p><script>quireReady = (async () => {{ {' '.join(steps)} }})()</script>"


async def test_nothing_a_document_stores_reaches_the_next(printer: ChromiumPrinter) -> None:
    both = await printer.print_pdf(request(running(WRITE, READ), script=True))
    assert text_of(both.data).count("SECRETMARK") == 8
    await printer.print_pdf(request(running(WRITE), script=True))
    after = await printer.print_pdf(request(running(READ), script=True))
    assert "found:" in text_of(after.data)
    assert "SECRETMARK" not in text_of(after.data)


async def test_a_document_with_script_never_shares_a_page(printer: ChromiumPrinter) -> None:
    read = "<!doctype html><p id=p></p><script>p.textContent = 'found: ' + window.mark</script>"
    await printer.print_pdf(request("<!doctype html><script>window.mark = 1</script>", script=True, key="k"))
    after = await printer.print_pdf(request(read, script=True, key="k"))
    assert "found: undefined" in text_of(after.data)


async def test_the_data_of_one_document_is_not_in_the_directory_of_the_browser(
    printer: ChromiumPrinter, directory: Path
) -> None:
    await printer.print_pdf(request("<!doctype html><p>SECRETMARK</p>", key="disk"))
    for path in directory.rglob("*"):
        if path.is_file() and "fonts" not in path.parts:
            assert b"SECRETMARK" not in path.read_bytes()


# Nothing left behind


@pytest.mark.parametrize("with_driver", [False, True], ids=["worker", "worker and driver"])
async def test_a_killed_worker_leaves_no_process_and_no_file(directory: Path, with_driver: bool) -> None:
    known = set(directory.iterdir())
    # The driver's own temporary files count too, so it gets a place to put them that nobody else uses.
    with open_directory() as temporary:
        await kill_worker(directory, known, temporary, with_driver)
        assert list(temporary.iterdir()) == []


async def kill_worker(directory: Path, known: set[Path], temporary: Path, with_driver: bool) -> None:
    worker = await start_worker(directory, sys.executable, {"TMPDIR": str(temporary)})
    try:
        leader, driver, _ = await read_report(worker)
        session = ProcessSession(leader)
        await eventually(lambda: len(session.renderers()) >= 1)
        assert len(set(directory.iterdir()) - known) == 1
        if with_driver:
            os.kill(driver, signal.SIGKILL)
        worker.kill()
        await worker.wait()
        await eventually(lambda: not session.members() and not Path(f"/proc/{driver}").exists())
        await eventually(lambda: set(directory.iterdir()) == known)
    finally:
        await end(worker)


async def test_a_killed_worker_takes_its_browser_along_even_when_the_driver_is_frozen(
    directory: Path,
) -> None:
    """Nobody but the watcher can end it then: the driver neither dies nor closes its pipe."""
    known = set(directory.iterdir())
    worker = await start_worker(directory, sys.executable, {})
    driver = 0
    try:
        leader, driver, _ = await read_report(worker)
        os.kill(driver, signal.SIGSTOP)
        worker.kill()
        await worker.wait()
        # The leader stays a zombie while its parent is frozen.
        await eventually(lambda: states(leader) <= {"Z"})
        await eventually(lambda: set(directory.iterdir()) == known)
    finally:
        await end(worker)
        if driver:
            os.kill(driver, signal.SIGKILL)


def states(leader: int) -> set[str]:
    """Of the processes that are there; any may go while it is looked at."""
    found = set()
    for pid in ProcessSession(leader).members():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.add(status_of(pid)["State"][0])
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_a_worker_without_rights_prints_the_same_bytes_as_confined(printer: ChromiumPrinter) -> None:
    python = "/usr/bin/python3"
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=False).stdout
    if version.split()[-1].split(".")[:2] != [str(part) for part in sys.version_info[:2]]:
        pytest.skip("no interpreter of this version that another user may run")
    libraries = [Path(quire.__file__).parents[1], *(Path(p) for p in sys.path if "site-packages" in p)]
    with open_directory() as own, open_directory() as shown:
        own.chmod(0o777)
        places = {shown / str(number): path for number, path in enumerate([PROGRAM.parent, *libraries])}
        program, *path = places
        worker = await start_worker(
            own,
            python,
            {
                "PYTHONPATH": os.pathsep.join(map(str, path)),
                "PYTHONDONTWRITEBYTECODE": "1",
                "HOME": "/",
            },
            before=as_stranger(places),
            program=program / PROGRAM.name,
        )
        try:
            leader, _, data = await read_report(worker)
            session = ProcessSession(leader)
            await eventually(lambda: len(session.renderers()) >= 1)
            await eventually(session.is_isolated)
            assert status_of(leader)["Uid"].split()[0] == "60999"
        finally:
            await end(worker)
        await eventually(lambda: not session.members() and list(own.iterdir()) == [])
    assert data == (await printer.print_pdf(request(SENTENCE))).data


def as_stranger(places: dict[Path, Path]) -> tuple[str, ...]:
    """Another user, who sees the checkout where he may read it: its own path may lead through a closed directory,
    such as root's home. The mounts are the process's own and end with it."""
    for place in places:
        place.mkdir()
    mounts = [str(path) for place, source in places.items() for path in (source, place)]
    script = 'while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec setpriv "$@"'
    rights = ("--reuid=60999", "--regid=60999", "--clear-groups", "--")
    return ("unshare", "--mount", "sh", "-euc", script, "sh", *mounts, "--", *rights)


async def start_worker(
    directory: Path,
    python: str,
    environment: dict[str, str],
    before: tuple[str, ...] = (),
    program: Path = PROGRAM,
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *before,
        *(python, str(program), str(directory), SENTENCE),
        stdout=asyncio.subprocess.PIPE,
        cwd="/",
        env={"PATH": os.environ["PATH"], **environment},
    )


async def end(worker: asyncio.subprocess.Process) -> None:
    if worker.returncode is None:
        worker.kill()
    await worker.wait()


async def read_report(worker: asyncio.subprocess.Process) -> tuple[int, int, bytes]:
    assert worker.stdout is not None
    line = await asyncio.wait_for(worker.stdout.readline(), 30)
    leader, driver, size = map(int, line.split())
    return leader, driver, await asyncio.wait_for(worker.stdout.readexactly(size), 10)
