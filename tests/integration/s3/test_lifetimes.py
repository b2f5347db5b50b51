"""Event loops, forks, trio and the end of the interpreter."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.integration.s3.support import filesystem, provider_of
from tests.servers.faults import Answer, Rule
from tests.servers.proxy import Proxy
from tests.servers.s3_server import S3Server

from moorage import ClosedError, Entry, UnsupportedError
from moorage_s3 import S3Filesystem

SETUP = """
import asyncio, os, sys, threading, gc
from moorage import ClosedError
from moorage_s3 import S3Filesystem
def make():
    return S3Filesystem("bucket1", "lifetimes", None, sys.argv[1], "testkey", "testsecret")
"""

SLOW = re.compile(r"Executing <.*> took [0-9.]+ seconds")
"""What asyncio says in development mode on a busy machine."""


def run(server: S3Server, script: str) -> str:
    """The output of a Python program in which every warning is an error; it must end, well, and say nothing else."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", SETUP + textwrap.dedent(script), server.endpoint_url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = [line for line in done.stderr.splitlines() if not SLOW.fullmatch(line)]
    assert (done.returncode, told) == (0, [])
    return done.stdout


def test_one_filesystem_on_two_loops_in_turn(seaweedfs: S3Server) -> None:
    fs = filesystem(seaweedfs)

    async def use(text: str) -> str:
        async with fs:
            await fs.write_text("/file", text)
            return await fs.read_text("/file")

    assert asyncio.run(use("one")) == "one"
    assert asyncio.run(use("two")) == "two"


def test_a_filesystem_that_is_never_closed_ends_with_its_loop(seaweedfs: S3Server) -> None:
    script = """
    fs = make()
    async def use(text):
        await fs.init()
        await fs.write_text("/file", text)
        print(await fs.read_text("/file"))
    asyncio.run(use("one"))
    asyncio.run(use("two"))
    """
    assert run(seaweedfs, script) == "one\ntwo\n"


@pytest.mark.parametrize("listing", [S3Filesystem.scan_dir, S3Filesystem.walk], ids=["scan", "walk"])
def test_a_loop_ends_in_peace_while_a_page_is_on_its_way(
    s3_proxy: Proxy, listing: Callable[[S3Filesystem, str], AsyncIterator[Entry]]
) -> None:
    said: list[dict[str, Any]] = []
    kept: list[AsyncIterator[Entry]] = []
    more = "<IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken>"
    page = f"<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents>{more}</ListBucketResult>"

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        fs = filesystem(s3_proxy, prefix="")
        await fs.init()
        s3_proxy.add(Rule(Answer(200, {}, page.encode()), kind="list_objects"))
        kept.append(listing(fs, "/"))
        await anext(kept[0])

    asyncio.run(leave())
    assert said == []


def test_one_client_on_two_loops_at_once(seaweedfs: S3Server) -> None:
    client = provider_of(filesystem(seaweedfs)).client
    found: list[object] = []

    async def use(name: str, mine: threading.Event, other: threading.Event) -> None:
        await client.start()
        mine.set()
        assert await asyncio.to_thread(other.wait, 10)
        for number in range(20):
            await client.put(name, str(number).encode())
            found.append((await client.get(name)).chunks)

    events = threading.Event(), threading.Event()
    threads = [
        threading.Thread(target=asyncio.run, args=(use(f"two-{index}", events[index], events[1 - index]),))
        for index in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(map(str, found)) == sorted(str(str(number).encode()) for number in range(20) for _ in range(2))


def test_the_interpreter_ends_with_an_open_client(seaweedfs: S3Server) -> None:
    for ending in ("", "sys.exit(0)", "del fs; gc.collect(); await asyncio.sleep(0.05)"):
        script = f"""
        async def main():
            fs = make()
            await fs.init()
            await fs.write_text("/file", "x")
            print("open", flush=True)
            {ending or "pass"}
        asyncio.run(main())
        """
        assert run(seaweedfs, script) == "open\n"


def test_the_interpreter_ends_while_a_thread_has_an_open_client(seaweedfs: S3Server) -> None:
    script = """
    done = threading.Event()
    async def main():
        fs = make()
        await fs.init()
        await fs.write_text("/file", "x")
        done.set()
        await asyncio.sleep(60)
    threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
    done.wait(30)
    print("open")
    """
    assert run(seaweedfs, script) == "open\n"


def test_a_child_is_told_that_the_client_is_its_parents(seaweedfs: S3Server) -> None:
    script = """
    fs = make()
    async def parent():
        await fs.init()
        await fs.write_text("/file", "x")
        child = os.fork()
        if not child:
            return "child"
        await asyncio.to_thread(os.waitpid, child, 0)
        assert await fs.read_text("/file") == "x"
        return "parent"
    async def child():
        for call in (fs.read_text("/file"), fs.write_text("/file", "y"), fs.exists("/file")):
            try:
                await call
            except ClosedError as error:
                assert "forked" in str(error), error
            else:
                raise AssertionError("a forked client worked")
        async with make() as own:
            assert await own.read_text("/file") == "x"
        print("refused, and one's own works", flush=True)
    loop = asyncio.new_event_loop()
    if loop.run_until_complete(parent()) == "child":
        asyncio._set_running_loop(None)
        asyncio.run(child())
        os._exit(0)
    loop.run_until_complete(fs.aclose())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    print("parent")
    """
    assert run(seaweedfs, script) == "refused, and one's own works\nparent\n"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_trio_is_told_so(seaweedfs: S3Server, anyio_backend: str) -> None:
    fs = filesystem(seaweedfs)
    for call in (fs.init, lambda: fs.read_bytes("/x")):
        with pytest.raises(UnsupportedError, match="asyncio"):
            await call()


@pytest.mark.anyio
async def test_a_closed_filesystem_says_so_and_opens_again(seaweedfs: S3Server) -> None:
    fs = filesystem(seaweedfs)
    async with fs:
        await fs.write_text("/file", "x")
    with pytest.raises(ClosedError):
        await fs.read_text("/file")
    async with fs:
        assert await fs.read_text("/file") == "x"
    await fs.aclose()
