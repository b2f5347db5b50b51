"""Lines from a pipe, a file and a terminal."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from moorage_workspace.shell.reading import TypedLines

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def test_lines_come_whole_however_they_were_written(
    pipe: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = TypedLines(pipe[0])
    os.write(pipe[1], "one\ntwo\n\ngröße\nla".encode())
    assert [await lines("> ") for _ in range(4)] == ["one", "two", "", "größe"]
    os.write(pipe[1], b"st \xff\x1b")
    os.close(pipe[1])
    assert await lines("> ") == "last \ufffd\x1b"
    assert [await lines("> "), await lines("> ")] == [None, None]
    assert capsys.readouterr().out.startswith("> > > > > ")


async def test_a_wait_that_was_cancelled_takes_no_line_away(pipe: tuple[int, int]) -> None:
    lines = TypedLines(pipe[0])
    os.write(pipe[1], b"half ")
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(lines, "")
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    assert scope.cancelled_caught
    os.write(pipe[1], b"and half\nnext\n")
    os.close(pipe[1])
    assert await lines("") == "half and half"
    assert await lines("") == "next"


async def test_a_file_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo")
    with (tmp_path / "lines").open() as file:
        lines = TypedLines(file.fileno())
        assert [await lines("") for _ in range(3)] == ["one", "two", None]


async def test_the_end_of_a_terminal_is_its_end() -> None:
    ours, theirs = pty.openpty()
    try:
        lines = TypedLines(theirs)
        os.write(ours, b"one\n\x04")
        assert [await lines("") for _ in range(2)] == ["one", None]
    finally:
        os.close(ours)
        os.close(theirs)
