"""Progress is for a terminal: never in a pipe, never with --json."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from moorage import Progress, StoragePath
from moorage.cli.output import Output
from moorage.cli.progress import progress_bar, spinner


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
    ours, theirs = pty.openpty()
    code = "import sys; from moorage.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "cp", "-r", "local:src", "/a/dst", "--mount", "/a=memory://", *arguments]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert process.wait(30) == 0
    assert (b"files" in shown) is (arguments == ())


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how a terminal says that its other end is closed
        return b""
