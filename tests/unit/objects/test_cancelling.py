"""Cancelled or failed at any request, a change is whole or not at all, and no upload stays behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from tests.unit.objects.support import P, chunks

from moorage import StaleFileError, UnavailableError, WriteOptions
from moorage.objects import MemoryObjectClient, ObjectStoreProvider

pytestmark = pytest.mark.anyio

BODY = b"0123456789" * 5

CALLS: dict[str, Callable[[ObjectStoreProvider], Awaitable[object]]] = {
    "small": lambda provider: provider.write(P("/d/f"), b"tiny"),
    "large": lambda provider: provider.write(P("/d/f"), BODY),
    "stream": lambda provider: provider.write(P("/d/f"), chunks(BODY, BODY)),
    "append": lambda provider: provider.append(P("/d/f"), BODY),
    "copy": lambda provider: provider.copy(P("/a"), P("/d/f")),
    "move": lambda provider: provider.move(P("/a"), P("/d/f")),
    "guarded": lambda provider: provider.write(P("/d/g"), BODY, WriteOptions(overwrite=False)),
}


class Nth:
    """A hook that does something at the n-th request."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at = at
        self.act = act
        self.seen = 0

    async def __call__(self, kind: str, key: str) -> None:
        self.seen += 1
        if self.seen == self.at:
            self.act()
            await anyio.lowlevel.checkpoint()


def filled() -> tuple[MemoryObjectClient, ObjectStoreProvider]:
    client = MemoryObjectClient(part_size=16)
    client.poke("d/f", b"old")
    client.poke("a", b"source")
    return client, ObjectStoreProvider(client)


def whole(client: MemoryObjectClient) -> bool:
    found = client.peek("d/f")
    return found in (b"old", b"tiny", BODY, BODY + BODY, b"old" + BODY, b"source") and client.peek("d/g") in (
        None,
        BODY,
    )


@pytest.mark.parametrize("name", CALLS)
async def test_cancelled_at_each_request(name: str) -> None:
    for at in range(1, 30):
        client, provider = filled()
        with anyio.CancelScope() as scope:
            hook = client.before = Nth(at, scope.cancel)
            await CALLS[name](provider)
        assert whole(client)
        assert client.pending_uploads == []
        assert client.peek("a") == b"source" or (name == "move" and client.peek("d/f") == b"source")
        if hook.seen < at:
            return
        assert scope.cancelled_caught
    pytest.fail("more requests than expected")


@pytest.mark.parametrize("name", CALLS)
async def test_failed_at_each_request(name: str) -> None:
    def fail() -> None:
        raise UnavailableError("down")

    for at in range(1, 30):
        client, provider = filled()
        hook = client.before = Nth(at, fail)
        path: str | None = None
        try:
            await CALLS[name](provider)
        except UnavailableError as error:
            path = error.path
        assert path in (("/d/f", "/d/g", "/d", "/a") if hook.seen >= at else (None,))
        assert whole(client)
        assert client.pending_uploads == []
        if hook.seen < at:
            return
    pytest.fail("more requests than expected")


async def test_a_stream_that_fails_leaves_the_old_content() -> None:
    class OwnError(Exception):
        pass

    async def broken() -> object:
        yield b"x" * 40
        raise OwnError

    client, provider = filled()
    with pytest.raises(OwnError):
        await provider.write(P("/d/f"), broken())  # type: ignore[arg-type]
    assert client.peek("d/f") == b"old"
    assert client.pending_uploads == []


async def test_a_stale_multipart_upload_is_refused_and_aborted() -> None:
    client, provider = filled()
    for body in (BODY, b"", b"x" * 16, b"x" * 17):
        with pytest.raises(StaleFileError):
            await provider.write(P("/d/f"), body, WriteOptions(expected_version="stale"))
        with pytest.raises(StaleFileError):
            await provider.write(P("/d/f"), chunks(body), WriteOptions(expected_version="stale"))
    assert client.peek("d/f") == b"old"
    assert client.pending_uploads == []


async def test_waiting_for_an_append_can_be_cancelled() -> None:
    client, provider = filled()
    stuck, release = anyio.Event(), anyio.Event()

    async def wait(kind: str, key: str) -> None:
        stuck.set()
        await release.wait()

    client.before = wait
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(provider.append, P("/d/f"), b"1")
        await stuck.wait()
        with anyio.move_on_after(0.05) as scope:
            await provider.append(P("/d/f"), b"2")
        assert scope.cancelled_caught
        release.set()
    assert client.peek("d/f") == b"old1"
    await provider.append(P("/d/f"), b"3")
    assert client.peek("d/f") == b"old13"
