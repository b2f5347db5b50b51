"""Event loops, forks, and the end of the interpreter: no hang, no warning, no connection that crosses over."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
import trio
from tests.integration.gcs.support import CHUNK, opened
from tests.servers.gcs import LocalGCSServer

from moorage import BlockingFilesystem, ClosedError, Entry, MoorageError, OperationTimeoutError, UnsupportedError
from moorage_gcs import GCSFilesystem


def filesystem(server: LocalGCSServer) -> GCSFilesystem:
    return GCSFilesystem(server.bucket, "loops", server.endpoint_url, chunk_size=CHUNK)


async def use(fs: GCSFilesystem, name: str) -> None:
    await fs.write_bytes(f"/{name}", name.encode())
    assert await fs.read_bytes(f"/{name}") == name.encode()
    await fs.write_bytes(f"/{name}", bytes(2 * CHUNK))


def test_a_loop_after_another_and_one_that_was_not_closed(gcs_server: LocalGCSServer) -> None:
    fs = filesystem(gcs_server)

    async def open_and_leave() -> None:
        await fs.init()
        await use(fs, "first")

    asyncio.run(open_and_leave())
    for name in ("second", "third"):
        asyncio.run(use(fs, name))
    asyncio.run(fs.aclose())


@pytest.mark.parametrize("listing", [GCSFilesystem.scan_dir, GCSFilesystem.walk], ids=["scan", "walk"])
def test_a_loop_ends_in_peace_while_a_page_is_on_its_way(
    own_gcs_server: LocalGCSServer, listing: Callable[[GCSFilesystem, str], AsyncIterator[Entry]]
) -> None:
    own_gcs_server.state.settings.page_size = 1
    said: list[dict[str, Any]] = []
    kept: list[AsyncIterator[Entry]] = []
    for name in ("one", "two", "three"):
        own_gcs_server.put(f"loops/{name}", b"x")

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        fs = filesystem(own_gcs_server)
        await fs.init()
        kept.append(listing(fs, "/"))
        await anext(kept[0])

    asyncio.run(leave())
    assert said == []


def test_two_loops_at_once(gcs_server: LocalGCSServer) -> None:
    fs = filesystem(gcs_server)
    asyncio.run(fs.init())
    failures: list[BaseException] = []

    def run(name: str) -> None:
        try:
            asyncio.run(use(fs, name))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(f"thread-{index}",)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    asyncio.run(fs.aclose())


def test_from_ordinary_code(gcs_server: LocalGCSServer) -> None:
    with BlockingFilesystem(filesystem(gcs_server)) as call:
        call(call.filesystem.write_text, "/blocking", "text")
        assert call(call.filesystem.read_text, "/blocking") == "text"


def test_under_trio_it_says_so(gcs_server: LocalGCSServer) -> None:
    fs = filesystem(gcs_server)

    async def start() -> None:
        with pytest.raises(UnsupportedError, match="asyncio"):
            await fs.provider.start()

    trio.run(start)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_after_a_fork_the_child_is_told_and_the_parent_goes_on(gcs_server: LocalGCSServer) -> None:
    fs = filesystem(gcs_server)

    async def parent() -> None:
        async with fs:
            await use(fs, "parent")
            child = os.fork()
            if child == 0:
                os._exit(_in_child(gcs_server, fs))
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            await use(fs, "parent")

    asyncio.run(parent())


def _in_child(server: LocalGCSServer, fs: GCSFilesystem) -> int:
    """The loop of the parent cannot run here; a thread has none yet."""
    codes: list[int] = []

    async def work() -> int:
        with anyio.fail_after(10):
            try:
                await fs.read_bytes("/parent")
            except ClosedError as error:
                if "forked" not in str(error):
                    return 3
            else:
                return 2
            async with filesystem(server) as own:
                await use(own, "child")
        return 0

    thread = threading.Thread(target=lambda: codes.append(asyncio.run(work())))
    thread.start()
    thread.join(20)
    return codes[0] if codes else 4


PROGRAMS = {
    "never closed": "asyncio.run(open_it())",
    "a loop that nobody closes": "loop = asyncio.new_event_loop(); loop.run_until_complete(open_it())",
    "a loop closed by hand": "loop = asyncio.new_event_loop(); loop.run_until_complete(open_it()); loop.close()",
    "a thread that goes on": (
        "loop = asyncio.new_event_loop(); threading.Thread(target=loop.run_forever, daemon=True).start()\n"
        "asyncio.run_coroutine_threadsafe(open_it(), loop).result(20)"
    ),
    "garbage": "async def drop():\n  await open_it()\n  global fs\n  del fs\n  gc.collect()\nasyncio.run(drop())",
}
SLOPPY = {"a loop that nobody closes", "a loop closed by hand"}
"""Python itself warns of what such a loop leaves, if it is asked to."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_ends_quietly(gcs_server: LocalGCSServer, name: str) -> None:
    program = f"""
import asyncio, gc, threading, warnings
from moorage_gcs import GCSFilesystem
fs = GCSFilesystem({gcs_server.bucket!r}, "loops", {gcs_server.endpoint_url!r})
async def open_it():
    await fs.init()
    await fs.write_text("/end", "x")
{PROGRAMS[name]}
"""
    shown = () if name in SLOPPY else ("-W", "default")
    ended = subprocess.run(
        [sys.executable, *shown, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, _without_loops(ended.stderr)) == (0, "", [])


def _without_loops(text: str) -> list[str]:
    """The event loop of a daemon thread is nobody's to close."""
    return [line for line in text.splitlines() if "unclosed event loop" not in line and "_warn(" not in line]


def test_closing_ends_downloads_that_are_under_way(own_gcs_server: LocalGCSServer) -> None:
    own_gcs_server.put("loops/large", bytes(16 << 20))

    async def main() -> None:
        fs = filesystem(own_gcs_server)
        await fs.init()
        async with fs.open_read("/large") as reader:
            chunks = aiter(reader)
            await anext(chunks)
            await fs.aclose()
            with anyio.fail_after(5), pytest.raises(MoorageError) as caught:
                while True:
                    await anext(chunks)
        assert "provider failed" not in str(caught.value)

    asyncio.run(main())


def test_a_connection_is_waited_for_with_a_limit(own_gcs_server: LocalGCSServer) -> None:
    """Who reads with the only connection, and asks for something else meanwhile, would wait for ever."""
    own_gcs_server.put("large", bytes(16 << 20))

    async def main() -> None:
        limits = {"max_connections": 1, "connect_timeout": 0.2, "read_timeout": 0.2, "retries": 0}
        async with opened(own_gcs_server, own_gcs_server.bucket, **limits) as fs:
            async with fs.open_read("/large") as reader:
                await anext(aiter(reader))
                with anyio.fail_after(5), pytest.raises(OperationTimeoutError):
                    await fs.stat("/large")
            assert (await fs.stat("/large")).size == 16 << 20

    asyncio.run(main())
