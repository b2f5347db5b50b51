"""A command waits for whoever is slow to take its output, and its end waits for nobody."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import ExecuteOptions

pytestmark = pytest.mark.anyio


class Room:
    """There is some after a while."""

    def __init__(self) -> None:
        self.taken = 0
        self.waits = 0
        self.busy = False
        self.early = 0

    def hear(self, text: str) -> Room:
        self.taken += len(text)
        self.early += self.busy
        self.busy = True
        return self

    def __await__(self) -> Generator[Any, Any, None]:
        self.waits += 1
        for _ in range(10):
            yield from anyio.lowlevel.checkpoint().__await__()
        self.busy = False


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_no_more_is_read_until_there_is_room(unsandboxed: LocalSandbox) -> None:
    room = Room()
    # The last it says, it says while nobody can know its end yet.
    command = "for i in 1 2 3 4 5; do head -c 2000000 /dev/zero; done; sleep 0.5"
    await unsandboxed.execute_command(command, options=ExecuteOptions(on_stdout=room.hear))
    assert room.taken == 10_000_000
    assert room.waits >= 5
    assert room.early == 0


async def test_a_listener_that_never_has_room_does_not_keep_the_end(unsandboxed: LocalSandbox) -> None:
    heard: list[str] = []

    class Never:
        def __await__(self) -> Generator[Any, Any, None]:
            return anyio.sleep_forever().__await__()

    def hear(text: str) -> Never:
        heard.append(text)
        return Never()

    options = ExecuteOptions(on_stdout=hear)
    with anyio.fail_after(300):
        result = await unsandboxed.execute_command("echo one; sleep 0.2; echo two", options=options)
    assert result.stdout == "".join(heard) == "one\ntwo\n"
