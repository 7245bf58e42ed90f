"""The storage contract, over every adapter alike."""

from __future__ import annotations

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import aclosing

import httpx
import pytest

from quire.kernel import ForbiddenError, InvalidInputError, NotFoundError, TooLargeError
from quire.runtime.storage import (
    CHUNK_BYTES,
    StorageArgumentError,
    StorageBackend,
    StorageExistsError,
    StorageKeyError,
    StorageMismatchError,
    StorageNotFoundError,
    StorageTooLargeError,
    StorageUrlError,
    prove_storage,
)

LONG = 20 * CHUNK_BYTES + 17


async def chunks_of(data: bytes, size: int = 300_000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def collected(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


def pattern(size: int, seed: bytes = b"q") -> bytes:
    return (hashlib.sha256(seed).digest() * (size // 32 + 1))[:size]


async def test_bytes_come_back_as_they_were_put(storage: StorageBackend) -> None:
    put = await storage.put_bytes("a/b.pdf", b"hello", content_type="application/pdf")
    found = await storage.stat("a/b.pdf")
    assert await storage.get_bytes("a/b.pdf", max_bytes=5) == b"hello"
    assert (put.size_bytes, put.sha256, put.key) == (5, hashlib.sha256(b"hello").hexdigest(), "a/b.pdf")
    assert (found.size_bytes, found.sha256, found.etag) == (put.size_bytes, put.sha256, put.etag)
    assert found.content_type == put.content_type == "application/pdf"
    assert abs((found.modified_at - put.modified_at).total_seconds()) < 5


async def test_an_empty_object_is_an_object(storage: StorageBackend) -> None:
    await storage.put_bytes("empty", b"")
    await storage.put_stream("empty-stream", chunks_of(b""))
    assert await storage.get_bytes("empty", max_bytes=0) == b""
    assert await collected(storage.get_stream("empty-stream")) == b""
    assert (await storage.stat("empty-stream")).size_bytes == 0


@pytest.mark.parametrize("size", [1, CHUNK_BYTES, 8 * CHUNK_BYTES, LONG])
async def test_a_stream_comes_back_whole_in_bounded_chunks(storage: StorageBackend, size: int) -> None:
    data = pattern(size)
    put = await storage.put_stream("s/long.bin", chunks_of(data), content_type="image/tiff")
    assert (put.size_bytes, put.sha256) == (size, hashlib.sha256(data).hexdigest())
    received = [chunk async for chunk in storage.get_stream("s/long.bin")]
    assert b"".join(received) == data
    assert max(map(len, received)) <= CHUNK_BYTES
    assert (await storage.stat("s/long.bin")).content_type == "image/tiff"


RANGES = ((0, 10), (5, 6), (3, 3), (999_990, None), (10, 2_000_000), (1_000_000, None), (2_000_000, None))


async def test_a_range_is_cut_as_python_cuts(storage: StorageBackend) -> None:
    data = pattern(1_000_000)
    await storage.put_bytes("r", data)
    for start, end in RANGES:
        assert await collected(storage.get_stream("r", start=start, end=end)) == data[start:end]


async def test_a_long_stream_takes_little_memory(storage: StorageBackend) -> None:
    block = pattern(CHUNK_BYTES)

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(80):
            yield block

    tracemalloc.start()
    try:
        await storage.put_stream("long", chunks())
        received = 0
        async for chunk in storage.get_stream("long"):
            received += len(chunk)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert received == 80 * CHUNK_BYTES
    assert peak < 40 * CHUNK_BYTES


async def test_a_reader_that_leaves_early_leaves_nothing_open(storage: StorageBackend) -> None:
    await storage.put_bytes("early", pattern(3 * CHUNK_BYTES))
    async with aclosing(storage.get_stream("early")) as chunks:  # type: ignore[type-var]
        assert await anext(chunks)
    assert (await storage.stat("early")).size_bytes == 3 * CHUNK_BYTES


async def test_a_range_that_makes_no_sense_is_refused(storage: StorageBackend) -> None:
    for start, end in ((-1, None), (5, 4)):
        with pytest.raises(StorageArgumentError):
            await collected(storage.get_stream("r", start=start, end=end))


async def test_what_is_missing_is_not_found(storage: StorageBackend) -> None:
    assert not await storage.exists("no/such")
    for call in (storage.stat("no/such"), storage.get_bytes("no/such", max_bytes=1)):
        with pytest.raises(StorageNotFoundError) as caught:
            await call
        assert isinstance(caught.value, NotFoundError)
        assert (caught.value.code, caught.value.retryable) == ("STORAGE_NOT_FOUND", False)
    for end in (None, 0):
        with pytest.raises(StorageNotFoundError):
            await collected(storage.get_stream("no/such", end=end))


async def test_deleting_twice_is_the_same_as_once(storage: StorageBackend) -> None:
    await storage.put_bytes("d/e/f", b"x")
    assert await storage.exists("d/e/f")
    await storage.delete("d/e/f")
    await storage.delete("d/e/f")
    assert not await storage.exists("d/e/f")
    assert await storage.list("d") == ()


async def test_a_larger_object_than_asked_for_is_not_read(storage: StorageBackend) -> None:
    await storage.put_bytes("big", b"12345")
    with pytest.raises(StorageTooLargeError) as caught:
        await storage.get_bytes("big", max_bytes=4)
    assert isinstance(caught.value, TooLargeError)
    assert caught.value.code == "STORAGE_TOO_LARGE"


@pytest.mark.parametrize("size", [1000, LONG])
async def test_a_stream_over_its_limit_leaves_the_old_object(storage: StorageBackend, size: int) -> None:
    await storage.put_bytes("limited", b"old")
    with pytest.raises(StorageTooLargeError):
        await storage.put_stream("limited", chunks_of(pattern(size)), max_bytes=size - 1)
    assert await storage.get_bytes("limited", max_bytes=10) == b"old"


@pytest.mark.parametrize("size", [1000, LONG])
async def test_a_stream_that_hashes_otherwise_than_announced_is_not_stored(
    storage: StorageBackend, size: int
) -> None:
    data = pattern(size)
    with pytest.raises(StorageMismatchError):
        await storage.put_stream("hashed", chunks_of(data), sha256="0" * 64)
    assert not await storage.exists("hashed")
    await storage.put_stream("hashed", chunks_of(data), sha256=hashlib.sha256(data).hexdigest())
    assert (await storage.stat("hashed")).sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [1000, LONG])
async def test_a_source_that_breaks_off_leaves_nothing(storage: StorageBackend, size: int) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        async for chunk in chunks_of(pattern(size)):
            yield chunk
        raise ValueError("the source broke off")

    with pytest.raises(ValueError, match="broke off"):
        await storage.put_stream("broken", breaking())
    assert not await storage.exists("broken")
    assert await storage.list() == ()


@pytest.mark.parametrize("size", [1000, LONG])
async def test_a_stream_appears_only_after_it_was_approved(storage: StorageBackend, size: int) -> None:
    asked: list[bool] = []

    async def approve() -> None:
        asked.append(await storage.exists("approved"))

    await storage.put_stream("approved", chunks_of(pattern(size)), approve=approve)
    assert asked == [False]
    assert await storage.get_bytes("approved", max_bytes=size) == pattern(size)


@pytest.mark.parametrize("size", [1000, LONG])
async def test_a_stream_that_was_not_approved_leaves_what_was_there(
    storage: StorageBackend, size: int
) -> None:
    await storage.put_bytes("refused", b"old")

    async def refuse() -> None:
        raise ValueError("not this one")

    for key in ("refused", "new"):
        with pytest.raises(ValueError, match="not this one"):
            await storage.put_stream(key, chunks_of(pattern(size)), approve=refuse)
    assert await storage.get_bytes("refused", max_bytes=10) == b"old"
    assert [item.key for item in await storage.list()] == ["refused"]


async def test_a_put_that_is_cancelled_before_it_was_approved_leaves_nothing(storage: StorageBackend) -> None:
    asked = asyncio.Event()

    async def approve() -> None:
        asked.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(storage.put_stream("unapproved", chunks_of(pattern(LONG)), approve=approve))
    await asyncio.wait_for(asked.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await storage.list() == ()


async def test_a_cancelled_put_leaves_nothing_or_the_whole(storage: StorageBackend) -> None:
    reached = asyncio.Event()

    async def stalling() -> AsyncIterator[bytes]:
        async for chunk in chunks_of(pattern(LONG)):
            yield chunk
        reached.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(storage.put_stream("cancelled", stalling()))
    await asyncio.wait_for(reached.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not await storage.exists("cancelled")


async def test_of_concurrent_puts_one_whole_object_remains(storage: StorageBackend) -> None:
    versions = [pattern(2 * CHUNK_BYTES + n, bytes([n])) for n in range(8)]
    seen: list[bytes] = []

    async def read_while_written() -> None:
        while len(seen) < 20:
            if await storage.exists("contended"):
                seen.append(await collected(storage.get_stream("contended")))

    puts = [storage.put_bytes("contended", data) for data in versions[::2]]
    puts += [storage.put_stream("contended", chunks_of(data)) for data in versions[1::2]]
    await asyncio.gather(read_while_written(), *puts)
    assert set(seen) <= set(versions)
    assert await storage.get_bytes("contended", max_bytes=LONG) in versions
    assert [item.key for item in await storage.list()] == ["contended"]


async def test_puts_and_deletes_in_one_directory_do_not_disturb_each_other(storage: StorageBackend) -> None:
    async def come_and_go(number: int) -> None:
        for _ in range(10):
            await storage.put_bytes(f"shared/deep/{number}", b"x")
            await storage.delete(f"shared/deep/{number}")

    await asyncio.gather(*(come_and_go(number) for number in range(6)))
    assert await storage.list() == ()


async def test_if_absent_lets_exactly_one_put_win(storage: StorageBackend) -> None:
    puts = (storage.put_bytes("once", bytes([number]), if_absent=True) for number in range(8))
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    won = [item for item in outcomes if not isinstance(item, BaseException)]
    assert len(won) == 1
    assert sum(isinstance(item, StorageExistsError) for item in outcomes) == 7
    data = await storage.get_bytes("once", max_bytes=1)
    assert hashlib.sha256(data).hexdigest() == won[0].sha256


@pytest.mark.parametrize("size", [3, LONG])
async def test_if_absent_keeps_the_object_that_is_there(storage: StorageBackend, size: int) -> None:
    await storage.put_stream("kept", chunks_of(pattern(size)), if_absent=True)
    with pytest.raises(StorageExistsError):
        await storage.put_stream("kept", chunks_of(pattern(size, b"other")), if_absent=True)
    assert await storage.get_bytes("kept", max_bytes=size) == pattern(size)


async def test_a_put_replaces_bytes_and_type(storage: StorageBackend) -> None:
    await storage.put_bytes("v", b"one", content_type="text/plain")
    await storage.put_bytes("v", b"three", content_type="text/html; charset=utf-8")
    assert await storage.get_bytes("v", max_bytes=9) == b"three"
    assert (await storage.stat("v")).content_type == "text/html; charset=utf-8"


async def test_a_key_may_be_an_object_and_the_beginning_of_others(storage: StorageBackend) -> None:
    await storage.put_bytes("case/1/a", b"below")
    await storage.put_bytes("case/1", b"above")
    assert await storage.get_bytes("case/1", max_bytes=9) == b"above"
    assert await storage.get_bytes("case/1/a", max_bytes=9) == b"below"


KEYS = ("a-b", "a.b/c", "a/b", "a/b.c", "a/c/d", "a0", "ab/c", "b/=x", "b/_y", "b/y")


async def test_a_listing_pages_without_gaps_or_repeats(storage: StorageBackend) -> None:
    for key in reversed(KEYS):
        await storage.put_bytes(key, key.encode())
    whole = await storage.list()
    assert {item.key: item.size_bytes for item in whole} == {key: len(key) for key in KEYS}
    paged, after = [], ""
    while page := await storage.list(limit=3, after=after):
        paged += [item.key for item in page]
        after = page[-1].key
    assert paged == [item.key for item in whole]


async def test_a_listing_has_the_keys_that_begin_with_the_prefix(storage: StorageBackend) -> None:
    for key in KEYS:
        await storage.put_bytes(key, b"")
    for prefix in ("a", "a/", "a/b", "b/", "b/y", "zz"):
        found = [item.key for item in await storage.list(prefix)]
        assert sorted(found) == sorted(key for key in KEYS if key.startswith(prefix))


BAD_KEYS = (
    "", "/a", "a/", "a//b", "..", ".", "a/../b", "a/./b", "../../etc/passwd", "a\\b", "a b", "a\0b", "a\nb",
    "ключ", "a@", "a%2e", "a" * 513, "a/" + "b" * 241, "~root", "a?b", "a#b",
)  # fmt: skip


async def test_a_bad_key_is_refused_by_every_call(storage: StorageBackend) -> None:
    for key in BAD_KEYS:
        calls = (
            storage.put_bytes(key, b""),
            storage.put_stream(key, chunks_of(b"")),
            storage.get_bytes(key, max_bytes=1),
            collected(storage.get_stream(key)),
            storage.stat(key),
            storage.exists(key),
            storage.delete(key),
            storage.presign_get(key, ttl_seconds=9),
            storage.presign_put(key, ttl_seconds=9, content_type="text/plain", size_bytes=1),
        )
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, StorageKeyError), key
            assert isinstance(outcome, InvalidInputError)
            assert outcome.code == "STORAGE_KEY_INVALID"


async def test_the_longest_key_works(storage: StorageBackend) -> None:
    key = "/".join(["k" * 240, "l" * 240, "m" * 30])
    assert len(key) == 512
    await storage.put_bytes(key, b"x")
    assert [item.key for item in await storage.list()] == [key]


async def test_arguments_that_could_break_a_header_are_refused(storage: StorageBackend) -> None:
    calls = (
        storage.put_bytes("k", b"", content_type="text/plain\r\nX-Evil: 1"),
        storage.put_stream("k", chunks_of(b""), content_type="nonsense"),
        storage.presign_get("k", ttl_seconds=9, filename="a\r\nb"),
        storage.presign_get("k", ttl_seconds=9, filename="../x"),
        storage.presign_get("k", ttl_seconds=0),
        storage.presign_put("k", ttl_seconds=604_801, content_type="text/plain", size_bytes=1),
        storage.presign_put("k", ttl_seconds=9, content_type="text/plain", size_bytes=-1),
        storage.list(limit=0),
        storage.list(limit=1001),
    )
    for call in calls:
        with pytest.raises(StorageArgumentError):
            await call


async def test_a_storage_proves_itself_and_leaves_no_probe(storage: StorageBackend) -> None:
    proof = await prove_storage(storage)
    assert proof.put_ms > 0
    assert await storage.list() == ()


async def test_a_signed_url_downloads_the_object_under_its_name(storage: StorageBackend) -> None:
    await storage.put_bytes("doc/1.pdf", b"0123456789", content_type="application/pdf")
    signed = await storage.presign_get("doc/1.pdf", ttl_seconds=60, filename="Дело №1.pdf")
    async with httpx.AsyncClient() as client:
        whole = await client.get(signed.url)
        part = await client.get(signed.url, headers={"Range": "bytes=2-4"})
        tail = await client.get(signed.url, headers={"Range": "bytes=-3"})
        beyond = await client.get(signed.url, headers={"Range": "bytes=10-"})
    assert (whole.status_code, whole.content) == (200, b"0123456789")
    assert whole.headers["content-type"] == "application/pdf"
    assert (
        "filename*=UTF-8''%D0%94%D0%B5%D0%BB%D0%BE%20%E2%84%961.pdf" in whole.headers["content-disposition"]
    )
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"234", "bytes 2-4/10")
    assert (tail.status_code, tail.content) == (206, b"789")
    assert beyond.status_code == 416


async def test_a_signed_url_uploads_exactly_what_was_announced(storage: StorageBackend) -> None:
    signed = await storage.presign_put("up/1", ttl_seconds=60, content_type="image/png", size_bytes=5)
    async with httpx.AsyncClient() as client:
        longer = await client.put(signed.url, content=b"123456", headers={"Content-Type": "image/png"})
        shorter = await client.put(signed.url, content=b"1234", headers={"Content-Type": "image/png"})
        other = await client.put(signed.url, content=b"12345", headers={"Content-Type": "text/html"})
        assert [item.status_code for item in (longer, shorter, other)] == [403, 403, 403]
        assert not await storage.exists("up/1")
        right = await client.put(signed.url, content=b"12345", headers=dict(signed.headers))
        assert right.status_code == 200
        assert (await client.get(signed.url)).status_code == 403
    stored = await storage.stat("up/1")
    assert (stored.size_bytes, stored.content_type) == (5, "image/png")
    assert right.headers["etag"].strip('"') == stored.etag


async def test_a_changed_signed_url_is_refused(storage: StorageBackend) -> None:
    await storage.put_bytes("mine", b"1")
    await storage.put_bytes("other", b"2")
    url = (await storage.presign_get("mine", ttl_seconds=60)).url
    last = "0" if url[-1] != "0" else "1"
    async with httpx.AsyncClient() as client:
        changed = [
            await client.get(url.replace("/mine", "/other")),
            await client.get(url[:-1] + last),
            await client.get(url.replace("60&", "61&").replace("xpires=1", "xpires=2")),
            await client.put(url, content=b"3"),
            await client.get(url.split("?")[0]),
        ]
        assert [item.status_code for item in changed] == [403] * 5
        assert (await client.get(url)).content == b"1"
    assert await storage.get_bytes("mine", max_bytes=1) == b"1"


async def test_an_expired_signed_url_is_refused(storage: StorageBackend) -> None:
    await storage.put_bytes("short", b"1")
    signed = await storage.presign_get("short", ttl_seconds=1)
    async with httpx.AsyncClient() as client:
        async with asyncio.timeout(10):
            while (answer := await client.get(signed.url)).status_code == 200:
                await asyncio.sleep(0.2)
    assert answer.status_code == 403


def test_the_refusal_of_a_signed_url_has_one_code() -> None:
    assert issubclass(StorageUrlError, ForbiddenError)
    assert StorageUrlError().code == "STORAGE_URL_INVALID"
