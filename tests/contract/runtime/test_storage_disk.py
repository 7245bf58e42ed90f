"""What only a disk can get wrong: crashes, full disks, symlinks, rot, and the signed URLs that are ours."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tests.support.storage_setup import SECRET, disk_storage

from quire.runtime.settings import SettingsError, load_settings
from quire.runtime.storage import (
    LocalDiskStorage,
    StorageCorruptError,
    StorageExistsError,
    StorageFullError,
    StorageKeyError,
    StorageUnavailableError,
    StorageUnmarkedError,
    StorageUrlError,
    UrlSigner,
    open_storage,
    url_signer,
)
from quire.runtime.storage.signed_url import UrlClaim

SIGNER = UrlSigner(SECRET, "http://127.0.0.1:1")


@pytest.fixture
async def disk(tmp_path: Path) -> LocalDiskStorage:
    storage = LocalDiskStorage(tmp_path, SIGNER)
    await storage.ensure_ready(create=True)
    return storage


def incoming(root: Path) -> list[str]:
    return names_in(root / ".incoming")


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


WRITER = """
import asyncio, sys
from pathlib import Path
from quire.runtime.storage import LocalDiskStorage, UrlSigner

async def chunks():
    yield bytes(3_000_000)
    print("writing", flush=True)
    await asyncio.Event().wait()

async def main():
    storage = LocalDiskStorage(Path(sys.argv[1]), UrlSigner("", ""))
    await storage.put_stream("killed/object", chunks())

asyncio.run(main())
"""


@contextlib.contextmanager
def writer_in_the_middle(root: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "writing\n"
            yield process
        finally:
            process.kill()


async def test_a_writer_killed_in_the_middle_leaves_nothing_visible_and_its_debris_is_swept(
    disk: LocalDiskStorage, tmp_path: Path
) -> None:
    with writer_in_the_middle(tmp_path) as process:
        assert len(incoming(tmp_path)) == 1
        process.send_signal(signal.SIGKILL)
        process.wait(20)
    assert not await disk.exists("killed/object")
    assert await disk.list() == ()
    assert len(incoming(tmp_path)) == 1
    await disk.ensure_ready()
    assert incoming(tmp_path) == []


async def test_a_sweep_leaves_living_writers_alone(disk: LocalDiskStorage, tmp_path: Path) -> None:
    with writer_in_the_middle(tmp_path):
        await disk.ensure_ready()
        assert len(incoming(tmp_path)) == 1


async def test_writers_and_sweeps_at_once_lose_nothing(disk: LocalDiskStorage, tmp_path: Path) -> None:
    async def sweep() -> None:
        for _ in range(30):
            await disk.ensure_ready()

    await asyncio.gather(sweep(), *(disk.put_bytes(f"k/{number}", b"x") for number in range(60)))
    assert len(await disk.list("k/")) == 60
    assert incoming(tmp_path) == []


async def test_a_cancelled_stream_removes_its_file(disk: LocalDiskStorage, tmp_path: Path) -> None:
    writing = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield bytes(2_000_000)
        writing.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(disk.put_stream("c", chunks()))
    await asyncio.wait_for(writing.wait(), 10)
    assert len(incoming(tmp_path)) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert incoming(tmp_path) == []


async def test_bytes_that_lie_whole_on_the_disk_are_removed_when_they_are_not_approved(
    disk: LocalDiskStorage, tmp_path: Path
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield bytes(2_000_000)

    async def refuse() -> None:
        async with asyncio.timeout(20):
            while [path.stat().st_size for path in (tmp_path / ".incoming").iterdir()] != [2_000_000]:
                await asyncio.sleep(0.01)
        raise ValueError("not this one")

    with pytest.raises(ValueError, match="not this one"):
        await disk.put_stream("d/e", chunks(), approve=refuse)
    assert (incoming(tmp_path), names_in(tmp_path)) == ([], [".incoming", ".quire-storage"])


@pytest.fixture
def tiny_disk() -> Iterator[Path | None]:
    """One megabyte of tmpfs, where mounting is allowed."""
    directory = Path(tempfile.mkdtemp(prefix="quire-tiny-"))
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)]
    mounted = mount is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0
    yield directory if mounted else None
    if mounted:
        subprocess.run(["umount", str(directory)], check=True)
    directory.rmdir()


async def test_a_full_disk_is_a_typed_error_and_leaves_the_old_object(tiny_disk: Path | None) -> None:
    if tiny_disk is None:
        pytest.skip("mounting is not allowed here; the next test fills a limit on file size instead")
    storage = LocalDiskStorage(tiny_disk, SIGNER)
    await storage.ensure_ready(create=True)
    await storage.put_bytes("kept", b"old")

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield bytes(100_000)

    for put in (storage.put_bytes("kept", bytes(2_000_000)), storage.put_stream("kept", chunks())):
        with pytest.raises(StorageFullError) as caught:
            await put
        assert (caught.value.code, caught.value.retryable) == ("STORAGE_FULL", True)
        assert str(tiny_disk) not in str(caught.value)
    assert await storage.get_bytes("kept", max_bytes=3) == b"old"
    assert incoming(tiny_disk) == []
    await storage.put_bytes("more", bytes(500_000))


ONE_PUT = """
import asyncio, sys
from pathlib import Path
from quire.runtime.storage import LocalDiskStorage, StorageFullError, UrlSigner

storage = LocalDiskStorage(Path(sys.argv[1]), UrlSigner("", ""))
try:
    asyncio.run(storage.put_bytes("k", bytes(200_000)))
except StorageFullError as error:
    print(error.code)
"""


async def test_a_limit_on_file_size_is_a_full_disk_too(disk: LocalDiskStorage, tmp_path: Path) -> None:
    limit = 100_000
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-B", "-c", ONE_PUT, str(tmp_path),
        stdout=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    assert output == b"STORAGE_FULL\n"
    assert (incoming(tmp_path), await disk.list()) == ([], ())


async def test_no_symlink_leads_out_of_the_storage(disk: LocalDiskStorage, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    await disk.put_bytes("real", b"mine")
    shutil.copy(tmp_path / "real", outside / "secret")
    (tmp_path / "way").symlink_to(outside)
    (tmp_path / "file").symlink_to(outside / "secret")
    calls = (
        disk.get_bytes("way/secret", max_bytes=9),
        disk.stat("way/secret"),
        disk.put_bytes("way/new", b"x"),
        disk.put_bytes("way/new/deeper", b"x"),
        disk.delete("way/secret"),
        disk.get_bytes("file", max_bytes=9),
    )
    for call in calls:
        with pytest.raises(StorageKeyError):
            await call
    await disk.put_bytes("file", b"replaced the link, not its target")
    assert [item.key for item in await disk.list()] == ["file", "real"]
    assert names_in(outside) == ["secret"]
    assert (outside / "secret").read_bytes() == b"mine"


@pytest.mark.parametrize("damage", ["flip", "cut", "grow", "empty", "foreign"])
async def test_a_damaged_object_is_never_served_as_whole(
    disk: LocalDiskStorage, tmp_path: Path, damage: str
) -> None:
    await disk.put_bytes("rot", b"0123456789")
    path = tmp_path / "rot"
    raw = path.read_bytes()
    damaged = {
        "flip": b"X" + raw[1:],
        "cut": raw[1:],
        "grow": b"0" + raw,
        "empty": b"",
        "foreign": bytes(600),
    }
    path.write_bytes(damaged[damage])
    with pytest.raises(StorageCorruptError) as caught:
        await disk.get_bytes("rot", max_bytes=100)
    assert caught.value.code == "STORAGE_CORRUPT"


async def test_a_pipe_in_the_tree_does_not_hang_a_reader(disk: LocalDiskStorage, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageCorruptError):
        await asyncio.wait_for(disk.get_bytes("pipe", max_bytes=1), 5)


async def test_a_listing_is_in_byte_order_of_whole_keys(disk: LocalDiskStorage) -> None:
    keys = ["a", "a-b", "a.b/c", "a/b", "a/b.c", "a/b/c", "a0", "b"]
    for key in reversed(keys):
        await disk.put_bytes(key, b"")
    assert [item.key for item in await disk.list()] == keys == sorted(keys)
    assert [item.key for item in await disk.list("a/", after="a/b", limit=1)] == ["a/b.c"]


async def test_deleting_the_last_object_of_a_directory_removes_the_directory(
    disk: LocalDiskStorage, tmp_path: Path
) -> None:
    await disk.put_bytes("x/y/z", b"")
    await disk.put_bytes("x/w", b"")
    await disk.delete("x/y/z")
    assert names_in(tmp_path / "x") == ["w"]
    await disk.delete("x/w")
    assert names_in(tmp_path) == [".incoming", ".quire-storage"]


async def test_a_storage_whose_directory_vanished_is_unavailable_and_not_made_anew(tmp_path: Path) -> None:
    storage = LocalDiskStorage(tmp_path / "unmounted", SIGNER)
    for call in (storage.put_bytes("k", b""), storage.get_bytes("k", max_bytes=1), storage.list()):
        with pytest.raises(StorageUnavailableError) as caught:
            await call
        assert str(tmp_path) not in str(caught.value)
    assert not (tmp_path / "unmounted").exists()


async def test_an_object_is_a_plain_file_at_its_key(disk: LocalDiskStorage, tmp_path: Path) -> None:
    pdf = b"%PDF-1.7 and so on"
    await disk.put_bytes("pdfs/1/2.pdf", pdf, content_type="application/pdf")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert [(path.relative_to(tmp_path).as_posix(), path.read_bytes()) for path in files] == [
        ("pdfs/1/2.pdf", pdf)
    ]


async def test_a_file_whose_attributes_a_copy_lost_is_still_read(
    disk: LocalDiskStorage, tmp_path: Path
) -> None:
    """As after a restore, or on a file system that has none: the hash is in the database."""
    await disk.put_bytes("a/b.pdf", b"0123456789", content_type="application/pdf")
    path = tmp_path / "a" / "b.pdf"
    path.write_bytes(copy := path.read_bytes())
    for name in os.listxattr(path):
        os.removexattr(path, name)
    assert await disk.get_bytes("a/b.pdf", max_bytes=10) == copy
    stored = await disk.stat("a/b.pdf")
    assert (stored.size_bytes, stored.sha256, stored.content_type) == (10, None, "application/pdf")


def write_in_old_form(root: Path, key: str, data: bytes) -> Path:
    """As releases until now did: a mark behind the name, a footer behind the bytes."""
    path = root / "objects" / f"{key}@"
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(data).hexdigest()
    footer = json.dumps({"content_type": "text/plain", "sha256": digest, "size_bytes": len(data)}).encode()
    path.write_bytes(data + footer.ljust(512 - 15) + b"quire-object-1\n")
    return path


@pytest.mark.parametrize("place", ["artifacts", "storage"])
async def test_objects_in_the_old_form_and_place_are_read_listed_replaced_and_deleted(
    tmp_path: Path, place: str
) -> None:
    disk = LocalDiskStorage(tmp_path / "artifacts", SIGNER)
    await disk.ensure_ready(create=True)
    old = [write_in_old_form(tmp_path / place, key, b"old") for key in ("pdfs/1/1-1.pdf", "b", "c")]
    await disk.put_bytes("a", b"new")
    assert await disk.get_bytes("pdfs/1/1-1.pdf", max_bytes=3) == b"old"
    assert [chunk async for chunk in disk.get_stream("b", start=1)] == [b"ld"]
    stored = await disk.stat("b")
    assert (stored.size_bytes, stored.sha256) == (3, hashlib.sha256(b"old").hexdigest())
    listed = await disk.list()
    assert [(item.key, item.size_bytes) for item in listed] == [
        (k, 3) for k in ("a", "b", "c", "pdfs/1/1-1.pdf")
    ]
    with pytest.raises(StorageExistsError):
        await disk.put_bytes("c", b"newer", if_absent=True)
    await disk.put_bytes("c", b"newer")
    assert await disk.get_bytes("c", max_bytes=9) == b"newer"
    for key in ("pdfs/1/1-1.pdf", "b", "c"):
        await disk.delete(key)
    assert [item.key for item in await disk.list()] == ["a"]
    assert [path.exists() for path in old] == [False, False, False]


@pytest.mark.parametrize("damage", ["flip", "cut", "grow"])
async def test_damage_of_an_object_in_the_old_form_is_found(
    disk: LocalDiskStorage, tmp_path: Path, damage: str
) -> None:
    path = write_in_old_form(tmp_path, "rot", b"0123456789")
    raw = path.read_bytes()
    path.write_bytes({"flip": b"X" + raw[1:], "cut": raw[1:], "grow": b"0" + raw}[damage])
    with pytest.raises(StorageCorruptError):
        await disk.get_bytes("rot", max_bytes=100)


async def test_no_key_leads_to_what_is_not_an_object(disk: LocalDiskStorage) -> None:
    for key in (".quire-storage", ".incoming/x", "objects/x", "incoming/x"):
        for call in (disk.put_bytes(key, b""), disk.get_bytes(key, max_bytes=1), disk.delete(key)):
            with pytest.raises(StorageKeyError):
                await call


async def test_an_unmounted_storage_is_refused_and_stays_as_it_is(
    disk: LocalDiskStorage, tmp_path: Path
) -> None:
    """The empty directory below a mount point, or the same one with another disk in it."""
    await disk.put_bytes("k", b"x")
    for path in tmp_path.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    calls = (
        disk.ensure_ready(),
        disk.put_bytes("k", b""),
        disk.get_bytes("k", max_bytes=1),
        disk.exists("k"),
        disk.delete("k"),
        disk.list(),
    )
    for call in calls:
        with pytest.raises(StorageUnmarkedError, match="quire storage init") as caught:
            await call
        assert (caught.value.code, caught.value.retryable) == ("STORAGE_UNMARKED", True)
    assert list(tmp_path.iterdir()) == []
    await disk.ensure_ready(create=True)
    assert not await disk.exists("k")


async def test_a_file_in_the_place_of_the_storage_is_named(tmp_path: Path) -> None:
    (tmp_path / "storage").write_text("in the way")
    storage = LocalDiskStorage(tmp_path / "storage", SIGNER)
    for call in (storage.put_bytes("k", b""), storage.get_bytes("k", max_bytes=1), storage.ensure_ready()):
        with pytest.raises(StorageUnavailableError, match="a file is in the place of the storage directory"):
            await call


async def test_objects_are_private_to_their_owner(disk: LocalDiskStorage, tmp_path: Path) -> None:
    await disk.put_bytes("p/q", b"")
    assert (tmp_path / "p" / "q").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o700


async def test_relative_and_absolute_file_urls_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url, root in (
        ("file:data/artifacts", tmp_path / "data/artifacts"),
        (f"file:{tmp_path}/abs", tmp_path / "abs"),
    ):
        async with open_storage(load_settings(QUIRE_STORAGE_URL=url, QUIRE_SECRET_KEY=SECRET)) as storage:
            await storage.ensure_ready(create=True)
            await storage.put_bytes("k", b"x")
        assert (root / "k").read_bytes() == b"x"


@pytest.mark.parametrize(
    "url", ["", "data", "file:", "file://host/x", "ftp://x", "s3://", "s3://b/key", "s3://u:p@b", "s3://b?nope=1",
            "s3://b?endpoint=gopher://x", "s3://b?prefix=../x"],
)  # fmt: skip
async def test_a_storage_url_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="QUIRE_STORAGE_URL"):
        async with open_storage(load_settings(QUIRE_STORAGE_URL=url)):
            pass


class Noon:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


def query_of(url: str) -> list[tuple[str, str]]:
    return httpx.URL(url).params.multi_items()


def test_every_field_of_a_signed_url_is_under_the_signature() -> None:
    clock = Noon()
    signer = UrlSigner(SECRET, "http://q", clock)
    claim = UrlClaim("PUT", "a/b", signer.expiry(60), "text/plain", 5, "n")
    query = query_of(signer.url(claim))
    assert signer.verify("PUT", "a/b", query) == claim
    changes = {
        "method": "GET",
        "expires": str(claim.expires + 1),
        "type": "text/html",
        "size": "6",
        "name": "m",
    }
    bad = [
        [(name, changes[name] if name == changed else value) for name, value in query] for changed in changes
    ]
    bad += [[pair for pair in query if pair[0] != dropped] for dropped, _ in query]
    bad += [
        [*query, ("size", "9")],
        [*query, ("more", "1")],
        [(n, "é" if n == "signature" else v) for n, v in query],
    ]
    for changed_query in bad:
        with pytest.raises(StorageUrlError):
            signer.verify("PUT", "a/b", changed_query)
    with pytest.raises(StorageUrlError):
        signer.verify("PUT", "a/c", query)
    with pytest.raises(StorageUrlError):
        signer.verify("GET", "a/b", query)
    with pytest.raises(StorageUrlError):
        UrlSigner(SECRET + "!", "http://q", clock).verify("PUT", "a/b", query)
    clock.time += timedelta(seconds=60)
    with pytest.raises(StorageUrlError):
        signer.verify("PUT", "a/b", query)


def test_an_accepted_key_verifies_and_never_signs() -> None:
    before, after = (
        url_signer(load_settings(QUIRE_SECRET_KEY=key, QUIRE_SECRET_KEY_ACCEPTED=accepted))
        for key, accepted in ((SECRET, ""), (SECRET + "!", SECRET))
    )
    claim = UrlClaim("GET", "a/b", before.expiry(60))
    assert after.verify("GET", "a/b", query_of(before.url(claim))) == claim
    assert after.verify("GET", "a/b", query_of(after.url(claim))) == claim
    with pytest.raises(StorageUrlError):
        before.verify("GET", "a/b", query_of(after.url(claim)))
    with pytest.raises(StorageUrlError):
        after.verify("GET", "a/c", query_of(before.url(claim)))


def test_a_missing_or_short_secret_signs_nothing() -> None:
    with pytest.raises(SettingsError):
        UrlSigner("short", "http://q")
    with pytest.raises(SettingsError):
        UrlSigner(SECRET, "http://q", accepted="short")
    with pytest.raises(SettingsError):
        UrlSigner("", "http://q").url(UrlClaim("GET", "k", 1))


async def test_our_signed_urls_answer_with_safe_headers_and_problem_json(tmp_path: Path) -> None:
    async with disk_storage(tmp_path) as storage, httpx.AsyncClient() as client:
        await storage.put_bytes("page", b"<script>1</script>", content_type="text/html")
        url = (await storage.presign_get("page", ttl_seconds=60)).url
        missing = (await storage.presign_get("nothing", ttl_seconds=60)).url
        good, head = await client.get(url), await client.head(url)
        old = await client.get(url, headers={"Range": "bytes=0-0", "If-Range": '"other"'})
        refused, absent = await client.get(url + "0"), await client.get(missing)
    assert good.headers["x-content-type-options"] == "nosniff"
    assert good.headers["content-disposition"] == "attachment"
    assert "sandbox" in good.headers["content-security-policy"]
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "18")
    assert old.status_code == 200
    assert (refused.status_code, refused.json()["error_code"]) == (403, "STORAGE_URL_INVALID")
    assert refused.headers["content-type"] == "application/problem+json"
    assert (absent.status_code, absent.json()["error_code"]) == (404, "STORAGE_NOT_FOUND")


async def test_an_upload_without_a_length_is_counted(tmp_path: Path) -> None:
    async def body(size: int) -> AsyncIterator[bytes]:
        yield bytes(size)

    async with disk_storage(tmp_path) as storage, httpx.AsyncClient() as client:
        signed = await storage.presign_put("c", ttl_seconds=60, content_type="text/plain", size_bytes=5)
        kind = {"Content-Type": "text/plain"}
        longer = await client.put(signed.url, content=body(6), headers=kind)
        shorter = await client.put(signed.url, content=body(4), headers=kind)
        assert (longer.status_code, shorter.status_code) == (413, 422)
        assert (await storage.exists("c"), incoming(tmp_path)) == (False, [])
        assert (await client.put(signed.url, content=body(5), headers=kind)).status_code == 200


async def test_an_upload_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async with disk_storage(tmp_path) as storage:
        signed = await storage.presign_put(
            "b", ttl_seconds=60, content_type="text/plain", size_bytes=9_000_000
        )
        url = httpx.URL(signed.url)
        _, writer = await asyncio.open_connection(url.host, url.port)
        head = f"PUT {url.raw_path.decode()} HTTP/1.1\r\nHost: q\r\nContent-Type: text/plain\r\n"
        writer.write(f"{head}Content-Length: 9000000\r\n\r\n".encode() + bytes(4_000_000))
        await writer.drain()
        async with asyncio.timeout(20):
            while not incoming(tmp_path):
                await asyncio.sleep(0.01)
            writer.transport.abort()
            while incoming(tmp_path):
                await asyncio.sleep(0.01)
        assert not await storage.exists("b")
