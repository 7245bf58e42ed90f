"""`quire storage init|ls|get|put|rm|check`, straight on the storage that QUIRE_STORAGE_URL names."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from quire.entrypoints.cli.listing import AsJson, show_json, show_rows
from quire.entrypoints.cli.whole_file import LocalFileError, in_words, whole_file
from quire.entrypoints.home import Home
from quire.runtime.settings import Settings, load_settings
from quire.runtime.storage import (
    CHUNK_BYTES,
    DEFAULT_CONTENT_TYPE,
    LIST_MAX,
    StorageBackend,
    open_storage,
    prove_storage,
)

app = typer.Typer(help="Stored objects.", no_args_is_help=True)

SPARE = ("modified_at", "size_bytes")

Result = TypeVar("Result")
Key = Annotated[str, typer.Argument(help="Key of the object.")]


@app.command("init")
def init(as_json: AsJson = False) -> None:
    """Make the directory or bucket if it is missing, and mark it as the storage of this installation.

    The first start does so by itself. Needed after the storage was replaced by an empty one: jobs whose bytes are not
    in it expire when the same work is asked for again.
    """
    _with_storage(lambda storage: storage.ensure_ready(create=True))
    if as_json:
        show_json({"ok": True})
    else:
        typer.echo("ok: this is the storage from now on")


@app.command("ls")
def ls(
    prefix: Annotated[str, typer.Argument(help="What keys begin with.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=LIST_MAX)] = LIST_MAX,
    after: Annotated[str, typer.Option(help="Go on after this key.")] = "",
    as_json: AsJson = False,
) -> None:
    """List objects."""
    found = _with_storage(lambda storage: storage.list(prefix, limit=limit, after=after))
    show_rows(
        [asdict(item) for item in found], ("key", "size_bytes", "modified_at"), as_json=as_json, spare=SPARE
    )


@app.command("get")
def get(
    key: Key, path: Annotated[Path, typer.Argument(help="File to write; - for standard output.")]
) -> None:
    """Copy an object to a file. The file appears when it is whole."""
    _with_storage(lambda storage: _download(storage, key, path))


@app.command("put")
def put(
    path: Annotated[Path, typer.Argument(help="File to read.")],
    key: Key,
    content_type: Annotated[str | None, typer.Option(help="Default: guessed from the file's name.")] = None,
    if_absent: Annotated[bool, typer.Option(help="Refuse to replace an object.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a file to an object."""
    kind = content_type or mimetypes.guess_type(path.name)[0] or DEFAULT_CONTENT_TYPE
    stored = _with_storage(
        lambda storage: storage.put_stream(key, _chunks(path), content_type=kind, if_absent=if_absent)
    )
    if as_json:
        show_json(asdict(stored))
    else:
        typer.echo(f"{stored.key} {stored.size_bytes} bytes sha256 {stored.sha256}")


@app.command("rm")
def rm(keys: Annotated[list[str], typer.Argument(help="Keys of objects.")], as_json: AsJson = False) -> None:
    """Delete objects. One that is not there counts as deleted."""

    async def work(storage: StorageBackend) -> None:
        for key in keys:
            await storage.delete(key)

    _with_storage(work)
    if as_json:
        show_json({"deleted": keys})


@app.command("check")
def check(as_json: AsJson = False) -> None:
    """Write, read and delete a probe."""
    proof = _with_storage(prove_storage)
    if as_json:
        show_json({"ok": True} | asdict(proof))
    else:
        typer.echo(f"ok: put {proof.put_ms} ms, get {proof.get_ms} ms, delete {proof.delete_ms} ms")


def _with_storage(work: Callable[[StorageBackend], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with open_storage(_settings()) as storage:
            return await work(storage)

    return asyncio.run(run())


def _settings() -> Settings:
    """Without QUIRE_STORAGE_URL it is the storage of the `quire up` of this data directory."""
    settings = load_settings()
    if "storage_url" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"storage_url": Home(settings.data_dir).storage_url})


async def _download(storage: StorageBackend, key: str, path: Path) -> None:
    with whole_file(path) as target:
        async for chunk in storage.get_stream(key):
            await asyncio.to_thread(target.write, chunk)


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    try:
        with path.open("rb") as source:
            while chunk := await asyncio.to_thread(source.read, CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise LocalFileError(f"{path}: {in_words(error)}") from None
