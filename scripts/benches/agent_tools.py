"""What an agent's tools cost: searching and listing many files, one call, one line changed in a large file."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import anyio
from scripts.benches.rows import Aim, Row, Sample, Setting, medians

from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, Session, ToolResult, Workspace
from moorage_workspace.searching.ripgrep import find_ripgrep

_FILES: Final = WORKSPACE_TOOLS.FILESYSTEM
_NEEDLE: Final = "needle number"
_LINES: Final = 12
_A_DIRECTORY: Final = 100
_MIB: Final = 1 << 20


class NoRipgrepError(Exception):
    """The yardstick is not installed."""


async def measure(setting: Setting) -> None:
    program = find_ripgrep()
    if program is None:
        raise NoRipgrepError("ripgrep is not installed")
    many, large = setting.directory / "many", setting.directory / "large"
    count = setting.size(100_000, 500)
    await _fill(many, count)
    large.mkdir()
    async with Workspace(filesystem=LocalFilesystem(str(many))) as workspace, workspace.session() as session:
        await _measure_search(setting, session, program.program, many, count)
        await _measure_calls(setting, session)
    async with Workspace(filesystem=LocalFilesystem(str(large))) as workspace, workspace.session() as session:
        await _measure_edit(setting, session, large)


async def _measure_search(setting: Setting, session: Session, program: str, many: Path, count: int) -> None:
    repetitions = setting.size(5, 1)
    python = Workspace(filesystem=LocalFilesystem(str(many)), tools={_FILES.GREP: {"ripgrep": False}})

    async def grep_with(_: int) -> float:
        return await _milliseconds(lambda: _called(session, _FILES.GREP, {"pattern": _NEEDLE}))

    async def grep_without(_: int) -> float:
        return await _milliseconds(lambda: _called(python, _FILES.GREP, {"pattern": _NEEDLE}))

    async def list_tree(_: int) -> float:
        return await _milliseconds(lambda: _called(session, _FILES.LIST_FILES, {"max_depth": 9}))

    rg = _program(program, many, "--line-number", "--column", _NEEDLE)
    with_rg, without, theirs = await medians([grep_with, grep_without, rg], repetitions)
    setting.emit(Row(f"grep {count:,} files over rg, with ripgrep", with_rg, theirs, "ms", Aim("ratio", "≤", 1.5)))
    setting.emit(Row(f"grep {count:,} files over rg, in pure Python", without, theirs, "ms", Aim("ratio", "≤", 5)))
    ours, theirs = await medians([list_tree, _program(program, many, "--files")], repetitions)
    setting.emit(Row(f"list_files {count:,} files over rg --files", ours, theirs, "ms"))
    await python.destroy()


async def _measure_calls(setting: Setting, session: Session) -> None:
    filesystem = await session.filesystem()
    assert filesystem is not None
    rounds, repetitions = setting.size(300, 5), setting.size(5, 1)

    def each(work: Callable[[], Awaitable[object]]) -> Sample:
        async def once(_: int) -> float:
            return 1000 * await _milliseconds(lambda: _repeated(work, rounds)) / rounds

        return once

    pairs: list[tuple[str, Callable[[], Awaitable[object]], Callable[[], Awaitable[object]]]] = [
        (
            "file_stat over stat",
            lambda: _called(session, _FILES.FILE_STAT, {"path": "d000/f00"}),
            lambda: filesystem.stat("d000/f00"),
        ),
        (
            "read_file over read_text",
            lambda: _called(session, _FILES.READ_FILE, {"path": "d000/f00"}),
            lambda: filesystem.read_text("d000/f00"),
        ),
        (
            "write_file over write_text",
            lambda: _called(session, _FILES.WRITE_FILE, {"path": "d000/new", "content": "new"}),
            lambda: filesystem.write_text("d000/other", "new"),
        ),
    ]
    for what, tool, bare in pairs:
        ours, theirs = await medians([each(tool), each(bare)], repetitions)
        setting.emit(Row(f"one call: {what}", ours, theirs, "µs"))


async def _measure_edit(setting: Setting, session: Session, large: Path) -> None:
    size = setting.size(50, 1)
    line = b"x" * 63 + b"\n"
    (large / "edited").write_bytes(line * (size * _MIB // 2 // 64) + b"old 0\n" + line * (size * _MIB // 2 // 64))
    (large / "plain").write_bytes((large / "edited").read_bytes())

    async def edit(repetition: int) -> float:
        arguments = {"path": "edited", "old_string": f"old {repetition}\n", "new_string": f"old {repetition + 1}\n"}
        return await _milliseconds(lambda: _called(session, _FILES.EDIT_FILE, arguments))

    async def read_and_write(_: int) -> float:
        return await _milliseconds(lambda: anyio.to_thread.run_sync(_replace, large / "plain"))

    ours, theirs = await medians([edit, read_and_write], setting.size(7, 1))
    setting.emit(
        Row(f"edit a line in {size} MiB over a plain read and write", ours, theirs, "ms", Aim("ratio", "≤", 2))
    )


def _replace(path: Path) -> None:
    path.with_suffix(".new").write_bytes(path.read_bytes())
    path.with_suffix(".new").replace(path)


def _program(program: str, directory: Path, *arguments: str) -> Sample:
    """ripgrep as one would type it; it ignores as the tools do."""

    async def once(_: int) -> float:
        command = [program, "--no-config", "--no-require-git", *arguments, "./"]
        return await _milliseconds(lambda: anyio.run_process(command, cwd=directory, stderr=subprocess.STDOUT))

    return once


async def _called(target: Session | Workspace, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
    result = await target.call_tool(tool, arguments)
    assert result.ok, result.text
    return result


async def _repeated(work: Callable[[], Awaitable[object]], rounds: int) -> None:
    for _ in range(rounds):
        await work()


async def _milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


async def _fill(top: Path, count: int) -> None:
    """A hundred small files a directory, one of them with what is looked for in every tenth directory."""
    text = "".join(f"line {number} with some ordinary words in it\n" for number in range(_LINES)).encode()
    for number in range(count):
        directory = top / f"d{number // _A_DIRECTORY:03}"
        if number % _A_DIRECTORY == 0:
            directory.mkdir(parents=True)
            await anyio.lowlevel.checkpoint()
        found = f"{_NEEDLE} {number}\n".encode() if number % (10 * _A_DIRECTORY) == 7 else b""
        (directory / f"f{number % _A_DIRECTORY:02}").write_bytes(text + found)
