"""``moorage agent-shell --json``, as a program sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.workspace.shell.test_command import run

SECRET = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text(f"one \x1b[2J\u202e {SECRET}\n")
    return tmp_path / "notes"


def documents(notes: Path, *arguments: str, typed: str = "", code: int = 0) -> list[dict[str, Any]]:
    done = run(notes, "--json", *arguments, typed=typed)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.isascii()
    assert SECRET not in done.stdout
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_line_is_answered_by_one_document(notes: Path) -> None:
    lines = ("read_file /notes/plan.md", "read_file /notes/missing", "reed x", "read_file --foo 1", "structured on")
    read, missing, unknown, wrong = documents(notes, *(word for line in lines for word in ("-e", line)), code=1)
    assert (read["tool"], read["ok"], read["media"]) == ("workspace_read_file", True, [])
    assert read["structured"]["path"] == "/notes/plan.md"
    assert "     1→one \x1b[2J" in read["text"]
    assert "error" not in read
    assert (missing["ok"], missing["error"]["code"], missing["error"]["retryable"]) == (False, "not_found", False)
    assert unknown["error"]["code"] == "unknown_tool"
    assert wrong["error"]["code"] == "invalid_argument"
    assert "there is no --foo" in wrong["error"]["message"]


def test_tools_and_texts(notes: Path) -> None:
    lines = ("tools", "help grep", "help", "instructions")
    tools, grep, help_text, instructions = documents(notes, *(word for line in lines for word in ("-e", line)))
    assert grep in tools["tools"]
    assert "pattern" in grep["input_schema"]["properties"]
    assert "Ctrl-C" in help_text["help"]
    assert "/notes" in instructions["instructions"]


def test_a_question_is_a_document_and_the_next_line_its_answer(notes: Path) -> None:
    typed = "write_file /notes/a hello\nmaybe\ny\nwrite_file /notes/b hello\nn\nfile_stat /notes\nquit\n"
    asked, written, asked_again, refused, stat = documents(notes, typed=typed)
    question = asked["approval"]
    assert question["paths"] == ["/notes/a"]
    assert question["rule"] == "workspace_write_file under /notes/**"
    assert "+hello" in question["diff"]
    assert question["id"] != asked_again["approval"]["id"]
    assert (written["ok"], refused["error"]["code"], stat["ok"]) == (True, "approval_refused", True)
    assert (notes / "a").read_text() == "hello"
    assert not (notes / "b").exists()


def test_a_wrong_option_is_a_document_too(notes: Path) -> None:
    (error,) = documents(notes, "--isolation", "bwrap", "-e", "tools", code=2)
    assert error["error"]["code"] == "config"
    assert "--sandbox" in error["error"]["message"]


@pytest.mark.parametrize("isolation", ["bwrap", "jail"])
def test_isolation_of_no_commands_is_refused(notes: Path, isolation: str) -> None:
    done = run(notes, "--isolation", isolation, "-e", "tools")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--isolation {isolation}" in done.stderr
