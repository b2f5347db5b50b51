"""``moorage agent-shell`` as a process, on pipes and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests.unit.workspace.shell.test_drawing import driving

from moorage_workspace import detect_isolation
from moorage_workspace.testing.sleepers import Sleepers, processes_of_this_machine

MOORAGE = str(Path(sys.executable).with_name("moorage"))
PATIENCE = 120.0
ON_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""Makes standard input the process's own terminal, as a login's is, and becomes the program."""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("one\n")
    return tmp_path / "notes"


def run(notes: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [MOORAGE, "agent-shell", "--mount", f"/notes=local://{notes}", *arguments]
    return subprocess.run(command, input=typed, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_lines_on_the_command_line(notes: Path) -> None:
    done = run(notes, "--no-approve", "-e", "edit_file /notes/plan.md one two", "--call", "read_file /notes/plan.md")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("agent> edit_file /notes/plan.md one two\nEdited /notes/plan.md")
    assert done.stdout.endswith("agent> read_file /notes/plan.md\n/notes/plan.md (4 bytes)\n     1→two\n")


def test_one_that_fails_is_told_by_the_exit_code_and_the_others_happen(notes: Path) -> None:
    done = run(notes, "--no-approve", "-e", "read_file /notes/missing", "-e", "mkdir /notes/d", "-e", "reed /x")
    assert done.returncode == 1
    assert "Error (not_found)" in done.stdout
    assert (notes / "d").is_dir()


def test_what_is_piped_in_is_typed_and_approved(notes: Path) -> None:
    done = run(notes, typed="write_file /notes/new.md hello\ny\nwrite_file /notes/other.md hello\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert (notes / "new.md").read_text() == "hello"
    assert not (notes / "other.md").exists(), "at the end of the input nobody is there to approve"
    assert driving(done.stdout) == []


def test_nothing_drives_the_terminal(notes: Path) -> None:
    (notes / "evil").write_text("\x1b[2Jall gone\x07\n")
    (notes / "red\x1b[31m").write_text("")
    done = run(notes, "-e", "read_file /notes/evil", "-e", "list_files /notes", "-e", "read_file '/notes/\x1b[2J'")
    assert "all gone" in done.stdout
    assert driving(done.stdout) == []


def test_reading_first_and_other_names(notes: Path) -> None:
    options = ("--no-approve", "--read-first", "--profile", "coding")
    done = run(notes, *options, "-e", "write /notes/plan.md mine")
    assert done.returncode == 1
    assert "Error (read_required)" in done.stdout
    assert (notes / "plan.md").read_text() == "one\n"
    assert run(notes, *options, "-e", "read /notes/plan.md", "-e", "write /notes/plan.md mine").returncode == 0


@pytest.mark.parametrize("isolation", ["none", "bwrap"])
def test_the_shell_shows_the_mounts_and_a_read_only_one_stays_so(notes: Path, tmp_path: Path, isolation: str) -> None:
    if isolation == "bwrap" and detect_isolation() != "bwrap":
        pytest.skip("bwrap does not work on this machine")
    (tmp_path / "ro").mkdir()
    (tmp_path / "ro" / "f").write_text("kept\n")
    at = "." if isolation == "none" else ""
    commands = [f"cat {at}/notes/plan.md > {at}/notes/copy", f"echo changed > {at}/ro/f; true"]
    mount = f"/ro=local://{tmp_path / 'ro'}?read_only=true"
    options = ("--mount", mount, "--sandbox", str(tmp_path / "shell"), "--isolation", isolation, "--no-approve")
    done = run(notes, *options, *[word for line in commands for word in ("-e", f"execute_command '{line}'")])
    assert (done.returncode, done.stderr) == (0, "")
    assert (notes / "copy").read_text() == "one\n"
    assert (tmp_path / "ro" / "f").read_text() == "kept\n"
    assert str(tmp_path) not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--isolation", "jail", "--sandbox", "."], "choose none, bwrap or seatbelt"),
        (["--context", "tenant"], "write KEY=VALUE"),
        (["--profile", "cobol"], "cobol"),
    ],
)
def test_wrong_options_are_wrong_usage(notes: Path, arguments: list[str], complaint: str) -> None:
    done = run(notes, *arguments, "-e", "file_stat /notes")
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_help_ends_with_an_example() -> None:
    done = subprocess.run([MOORAGE, "agent-shell", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Example: moorage agent-shell --mount /notes=local://./notes" in " ".join(done.stdout.split())


class Person:
    """Somebody at a terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self.seen = ""

    def types(self, text: str) -> None:
        self.seen = ""
        os.write(self._terminal, text.encode())

    def waits_for(self, text: str) -> None:
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))[0], self.seen
            self.seen += os.read(self._terminal, 65_536).decode(errors="replace")


@contextmanager
def at_terminal(notes: Path, *arguments: str) -> Iterator[tuple[Person, subprocess.Popen[bytes]]]:
    ours, theirs = pty.openpty()
    command = [MOORAGE, "agent-shell", "--mount", f"/notes=local://{notes}", *arguments]
    process = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, *command],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Person(ours), process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


@pytest.mark.anyio
@pytest.mark.usefixtures("interruptible")
async def test_ctrl_c_ends_the_command_with_its_children_and_the_shell_goes_on(notes: Path, tmp_path: Path) -> None:
    sleepers = Sleepers(processes_of_this_machine)
    with at_terminal(notes, "--no-approve", "--sandbox", str(tmp_path / "shell")) as (person, process):
        person.waits_for("agent> ")
        person.types(f"execute_command '{sleepers.one()} & {sleepers.one()}'\n")
        await sleepers.all_awake()
        person.types("\x03")
        await anyio.to_thread.run_sync(person.waits_for, "agent> ")
        assert "interrupted" in person.seen
        await sleepers.all_gone()
        person.types("file_stat /notes\n")
        person.waits_for("type: directory")
        person.types("quit\n")
        assert process.wait(PATIENCE) == 0


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_at_a_question_refuses_and_the_next_line_is_the_shells(notes: Path) -> None:
    with at_terminal(notes) as (person, process):
        person.waits_for("agent> ")
        person.types("write_file /notes/new.md hello\n")
        person.waits_for("lways (")
        assert "\x1b[32m+hello" in person.seen, "a diff has colours"
        person.types("\x03")
        person.waits_for("agent> ")
        person.types("write_file /notes/next.md hello\n")
        person.waits_for("lways (")
        person.types("y\n")
        person.waits_for("agent> ")
        person.types("\x04")
        assert process.wait(PATIENCE) == 0
    assert sorted(os.listdir(notes)) == ["next.md", "plan.md"]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_at_the_prompt_leaves(notes: Path) -> None:
    with at_terminal(notes) as (person, process):
        person.waits_for("agent> ")
        person.types("\x03")
        assert process.wait(PATIENCE) == 130
