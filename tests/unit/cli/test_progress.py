"""Progress is for a terminal: never in a pipe, never with --json."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from moorage import Progress, StoragePath
from moorage.cli.output import Output
from moorage.cli.progress import progress_bar, spinner

_COLOURS = re.compile(rb"\x1b\[[\d;]*m")


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=160)


def printed(used: Console) -> str:
    assert isinstance(used.file, io.StringIO)
    return used.file.getvalue()


def test_a_terminal_sees_how_far_it_is() -> None:
    used = console(terminal=True)
    with progress_bar(Output(as_json=False), "copy", used) as report:
        assert report is not None
        report(Progress(StoragePath("/a/\x9bname"), 3, 2048, 7, 4096))
    assert "copy \\x9bname" in printed(used)
    assert "2.0/4.1 kB" in printed(used) or "2.0/4.0 KiB" in printed(used)
    assert "3/7 files" in printed(used)


@pytest.mark.parametrize(("as_json", "terminal"), [(True, True), (False, False)])
def test_nobody_else_does(as_json: bool, terminal: bool) -> None:
    used = console(terminal=terminal)
    with progress_bar(Output(as_json=as_json), "copy", used) as report, spinner(Output(as_json=as_json), "x", used):
        assert report is None
    assert printed(used) == ""


def test_a_spinner_says_what_is_done() -> None:
    used = console(terminal=True)
    with spinner(Output(as_json=False), "counting /a\x1b", used):
        pass
    assert "counting /a\\x1b" in printed(used)


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_copy_on_a_real_terminal(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "src").mkdir()
    for number in range(20):
        (tmp_path / "src" / f"{number}.txt").write_bytes(b"x" * 10_000)
    shown = on_a_terminal(tmp_path, "cp", "-r", "local:src", "/a/dst", *arguments)
    assert (b"files" in shown) is (arguments == ())


def test_the_copy_of_one_file_knows_its_end(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(3 << 20))
    shown = on_a_terminal(tmp_path, "cp", "local:big", "/a/big")
    assert b"3.1/3.1 MB" in shown or b"3.0/3.0 MiB" in shown
    assert b"1/1 files" in shown


def test_a_write_from_a_file_knows_its_end(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(3 << 20))
    with (tmp_path / "big").open("rb") as big:
        assert b"/3.0 MiB" in on_a_terminal(tmp_path, "write", "/a/big", stdin=big.fileno())


def test_nothing_is_drawn_over_what_is_typed(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"typed\n\x04")
    shown = on_a_terminal(tmp_path, "write", "/a/x", stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert shown == b""


def on_a_terminal(directory: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> bytes:
    """What a command shows on a terminal of its own, apart from its results."""
    ours, theirs = pty.openpty()
    code = "import sys; from moorage.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments, "--mount", "/a=memory://"]
    process = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, "COLUMNS": "160", "TERM": "xterm"},
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert process.wait(30) == 0
    return _COLOURS.sub(b"", shown)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how a terminal says that its other end is closed
        return b""
