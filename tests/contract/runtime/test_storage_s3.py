"""What only S3 can get wrong: credentials, a server that is gone, a bucket that is not there, unfinished
uploads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

import pytest
from tests.support.s3_server import S3Server, start_s3_server
from tests.support.storage_setup import s3_storage

from quire.runtime.settings import SettingsError, load_settings
from quire.runtime.storage import (
    StorageBackend,
    StorageCorruptError,
    StorageMismatchError,
    StorageRefusedError,
    StorageUnavailableError,
    open_storage,
)
from quire.runtime.storage.location import S3Location
from quire.runtime.storage.s3_client import s3_client

BUCKET = "quire-contract"


async def long_stream() -> AsyncIterator[bytes]:
    for _ in range(20):
        yield bytes(1_000_000)


def every_call(storage: StorageBackend) -> tuple[Coroutine[object, object, object], ...]:
    return (
        storage.put_bytes("k", b"x"),
        storage.put_stream("k", long_stream()),
        storage.get_bytes("k", max_bytes=1),
        storage.stat("k"),
        storage.delete("k"),
        storage.list(),
        storage.ensure_ready(),
    )


async def test_a_wrong_secret_is_refused_and_not_worth_a_retry(s3_server: S3Server) -> None:
    async with s3_storage(s3_server, AWS_SECRET_ACCESS_KEY="not the secret") as storage:
        for call in every_call(storage):
            with pytest.raises(StorageRefusedError) as caught:
                await call
            assert (caught.value.code, caught.value.retryable) == ("STORAGE_REFUSED", False)
            assert "not the secret" not in str(caught.value)


async def test_a_stopped_server_is_unavailable_quickly(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = start_s3_server(tmp_path_factory.mktemp("s3"))
    try:
        async with s3_storage(server) as storage:
            await storage.ensure_ready(create=True)
            await storage.put_bytes("k", b"x")
            server.stop()
            async with asyncio.timeout(8):
                outcomes = await asyncio.gather(*every_call(storage), return_exceptions=True)
            for outcome in outcomes:
                assert isinstance(outcome, StorageUnavailableError)
                assert (outcome.code, outcome.retryable) == ("STORAGE_UNAVAILABLE", True)
                assert "127.0.0.1" not in str(outcome)
    finally:
        server.stop()


async def test_only_who_says_so_makes_the_bucket(s3_server: S3Server) -> None:
    async with s3_storage(s3_server, bucket="quire-made-late") as storage:
        for call in (storage.put_bytes("k", b"x"), storage.ensure_ready(), storage.put_bytes("k", b"x")):
            with pytest.raises(StorageUnavailableError, match="NoSuchBucket"):
                await call
        await storage.ensure_ready(create=True)
        await storage.ensure_ready()
        await storage.put_bytes("k", b"x")


async def test_a_failed_long_stream_gives_up_its_parts(s3_server: S3Server) -> None:
    async with s3_storage(s3_server) as storage:
        await storage.ensure_ready(create=True)
        with pytest.raises(StorageMismatchError):
            await storage.put_stream("given-up", long_stream(), sha256="0" * 64)
    location = S3Location(BUCKET, s3_server.endpoint)
    async with s3_client(location, s3_server.environment()) as client:
        assert not (await client.list_multipart_uploads(Bucket=BUCKET)).get("Uploads")


async def test_bytes_that_changed_in_the_bucket_are_not_served_as_ours(s3_server: S3Server) -> None:
    async with s3_storage(s3_server) as storage:
        await storage.ensure_ready(create=True)
        put = await storage.put_bytes("rot", b"right")
        async with s3_client(S3Location(BUCKET, s3_server.endpoint), s3_server.environment()) as client:
            name = storage._location.prefix + "rot"
            await client.put_object(
                Bucket=BUCKET, Key=name, Body=b"wrong", Metadata={"quire-sha256": put.sha256}
            )
        with pytest.raises(StorageCorruptError):
            await storage.get_bytes("rot", max_bytes=9)


async def test_storages_with_different_prefixes_do_not_see_each_other(s3_server: S3Server) -> None:
    async with s3_storage(s3_server) as one, s3_storage(s3_server) as other:
        await one.ensure_ready(create=True)
        await one.put_bytes("k", b"x")
        assert [item.key for item in await one.list()] == ["k"]
        assert await other.list() == ()
        assert not await other.exists("k")


async def test_credentials_come_from_the_environment_alone(
    s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "credentials"
    profile.write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profile))
    for name in s3_server.environment():
        monkeypatch.delenv(name, raising=False)
    settings = load_settings(QUIRE_STORAGE_URL=s3_server.url(BUCKET))
    with pytest.raises(SettingsError, match="AWS_ACCESS_KEY_ID"):
        async with open_storage(settings):
            pass
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    async with open_storage(settings) as storage:
        await storage.ensure_ready(create=True)
