"""Streams on their way in: cut to even blocks, stopped at a limit. Memory is one block, whatever the
length.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from quire.runtime.storage.errors import StorageMismatchError, StorageTooLargeError


async def in_blocks(chunks: AsyncIterator[bytes], block_bytes: int) -> AsyncIterator[bytes]:
    """Blocks of exactly `block_bytes`, the last one shorter; nothing for an empty stream."""
    parts: list[memoryview] = []
    missing = block_bytes
    async for chunk in chunks:
        view = memoryview(chunk)
        while len(view) >= missing:
            # Each byte is copied once, on its way into its block.
            yield b"".join([*parts, view[:missing]])
            view, parts, missing = view[missing:], [], block_bytes
        if view:
            parts.append(view)
            missing -= len(view)
    if parts:
        yield b"".join(parts)


async def at_most(chunks: AsyncIterator[bytes], max_bytes: int | None) -> AsyncIterator[bytes]:
    size_bytes = 0
    async for chunk in chunks:
        size_bytes += len(chunk)
        if max_bytes is not None and size_bytes > max_bytes:
            raise StorageTooLargeError(f"more than {max_bytes} bytes")
        yield chunk


async def exactly(chunks: AsyncIterator[bytes], size_bytes: int) -> AsyncIterator[bytes]:
    left = size_bytes
    async for chunk in at_most(chunks, size_bytes):
        left -= len(chunk)
        yield chunk
    if left:
        raise StorageMismatchError(f"{left} bytes are missing")


async def prepended(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for block in rest:
        yield block
