"""The public way to append on a provider that can only replace."""

from __future__ import annotations

import pytest
from tests.unit.objects.support import P, chunks, content, store

from moorage import ConflictError, MemoryProvider, PathExistsError, StaleFileError, Stat, StoragePath, WriteOptions
from moorage.append import IN_MEMORY, append_by_rewrite
from moorage.models import Body
from moorage.provider import WRITE

pytestmark = pytest.mark.anyio

LOG = P("/d/log")


class Rewriting(MemoryProvider):
    """A provider whose author used the helper; ``interference`` writes come between its read and its write."""

    interference = 0

    async def append(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        return await append_by_rewrite(self, path, body, options)

    async def write(self, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        if self.interference and options.expected_version != WRITE.expected_version:
            self.interference -= 1
            await super().append(path, b"!")
        return await super().write(path, body, options)


async def test_creates_and_adds() -> None:
    provider = Rewriting()
    await provider.append(LOG, b"one ", WriteOptions(media_type="text/plain"))
    await provider.append(LOG, chunks(b"tw", b"o"))
    assert await content(provider, "/d/log") == b"one two"
    assert (await provider.stat(LOG)).media_type == "text/plain"


async def test_what_others_wrote_meanwhile_is_kept() -> None:
    provider = Rewriting()
    await provider.write(LOG, b"0")
    provider.interference = 3
    await provider.append(LOG, chunks(b"1"))
    assert await content(provider, "/d/log") == b"0!!!1"


async def test_its_own_expectation_is_not_retried() -> None:
    provider = Rewriting()
    seen = await provider.write(LOG, b"0")
    provider.interference = 1
    with pytest.raises(StaleFileError):
        await provider.append(LOG, b"1", WriteOptions(expected_version=seen.version or ""))
    with pytest.raises(StaleFileError):
        await provider.append(LOG, b"1", WriteOptions(expected_version=seen.version or ""))
    assert seen.modified_at is not None
    with pytest.raises(StaleFileError):
        await provider.append(LOG, b"1", WriteOptions(expected_mtime=seen.modified_at))
    with pytest.raises(PathExistsError):
        await provider.append(LOG, b"1", WriteOptions(overwrite=False))
    now = await provider.stat(LOG)
    assert now.modified_at is not None
    await provider.append(LOG, b"1", WriteOptions(expected_mtime=now.modified_at))
    assert await content(provider, "/d/log") == b"0!1"


async def test_a_body_too_large_to_keep_is_sent_once() -> None:
    provider = Rewriting()
    await provider.write(LOG, b"0")
    block = b"x" * (IN_MEMORY // 2)
    await provider.append(LOG, chunks(block, block, block))
    assert (await provider.stat(LOG)).size == 1 + 3 * len(block)
    provider.interference = 1
    with pytest.raises(ConflictError) as caught:
        await provider.append(LOG, chunks(block, block, block))
    assert caught.value.retryable


async def test_a_large_file_is_streamed_through() -> None:
    client, provider = store()
    client.poke("big", b"x" * (IN_MEMORY + 1))
    await provider.append(P("/big"), b"y")
    assert client.peek("big") == b"x" * (IN_MEMORY + 1) + b"y"


async def test_it_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.retries._LONGEST", 0.0)
    provider = Rewriting()
    await provider.write(LOG, b"0")
    provider.interference = 1000
    with pytest.raises(ConflictError) as caught:
        await provider.append(LOG, b"1")
    assert caught.value.path == "/d/log"
