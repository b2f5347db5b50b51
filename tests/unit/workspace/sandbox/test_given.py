"""What a sandbox cannot use is refused before it starts anything, with words that name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from moorage import InvalidArgumentError
from moorage_workspace import ContainerSandbox, ExecuteOptions, LocalSandbox, SandboxLimits, SandboxStatus, SpawnOptions

pytestmark = pytest.mark.anyio

SHARED: list[tuple[dict[str, Any], str]] = [
    ({"limits": {"processes": 5}}, r"limits must be SandboxLimits.*, not dict"),
    ({"limits": 0}, "limits must be SandboxLimits"),
    ({"env": {"A": 1}}, r"env\['A'\] must be a text, not int"),
    ({"env": {"A": None}}, r"env\['A'\] must be a text, not NoneType"),
    ({"env": {1: "a"}}, "the name of a variable must be a text, not 1"),
    ({"env": ["A=1"]}, "env must be a mapping, not list"),
    ({"env": ""}, "env must be a mapping, not str"),
    ({"timeout": "3"}, "timeout must be 0 or more seconds, not '3'"),
    ({"timeout": True}, "timeout must be 0 or more seconds, not True"),
    ({"timeout": None}, "timeout must be 0 or more seconds"),
    ({"timeout": float("nan")}, "timeout must be 0 or more seconds"),
    ({"network": "no"}, "network must be true or false, not 'no'"),
    ({"read_only": "no"}, "read_only must be true or false, not 'no'"),
    ({"instructions": 5}, "instructions must be a text, or a function"),
    ({"working_directory": ""}, "working_directory must be a path"),
    ({"working_directory": "a\0b"}, "working_directory must be a path"),
    ({"working_directory": b"/tmp"}, "working_directory must be a path"),
    ({"working_directory": None}, "working_directory must be a path"),
]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *SHARED,
        ({"id": ""}, "id must be a text"),
        ({"id": 5}, "id must be a text"),
        ({"isolation": "bwarp"}, "isolation must be one of"),
        ({"read_only_paths": "/usr"}, "read_only_paths must be a list of paths, not str"),
        ({"read_only_paths": [5]}, r"read_only_paths\[0\] must be a path"),
        ({"read_write_paths": None}, "read_write_paths must be a list of paths"),
        ({"read_write_paths": [""]}, r"read_write_paths\[0\] must be a path"),
    ],
)
def test_of_a_local_one(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        LocalSandbox(**{"working_directory": tmp_path, **options})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *SHARED,
        ({"image": ""}, "image must be a text"),
        ({"program": "podmann"}, "program: there is no 'podmann'; the nearest is 'podman'"),
        ({"directory": 5}, "directory must be a text"),
        ({"user": 0}, "user must be a text"),
    ],
)
def test_of_a_container(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    """Whether or not there is a program for containers on this machine."""
    with pytest.raises(InvalidArgumentError, match=said):
        ContainerSandbox(**{"image": "alpine", "working_directory": tmp_path, **options})


def test_a_secret_that_is_none_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        LocalSandbox(tmp_path, env={"A": SecretStr(12345678)})  # type: ignore[arg-type]
    assert "12345678" not in str(caught.value)
    with pytest.raises(InvalidArgumentError) as caught:
        LocalSandbox(tmp_path, env={"A": b"swordfish"})  # type: ignore[dict-item]
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize(
    "limits", [{"processes": "5"}, {"processes": 1.5}, {"open_files": True}, {"memory_bytes": "1G"}, {"cpu_seconds": 0}]
)
def test_a_limit_is_a_whole_number(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"the limit {next(iter(limits))} must be a whole number"):
        SandboxLimits(**limits)


@pytest.mark.parametrize("kind", [ExecuteOptions, SpawnOptions])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": "3"}, "timeout must be"),
        ({"timeout": -1}, "timeout must be"),
        ({"cwd": Path("a")}, "cwd must be a text"),
        ({"env": None}, "env must be a mapping"),
        ({"env": {"A": 1}}, r"env\['A'\] must be a text"),
        ({"max_retained_bytes": "5"}, "max_retained_bytes must be 0 or more bytes"),
        ({"max_retained_bytes": -5}, "max_retained_bytes must be 0 or more bytes"),
        ({"stdin": "swordfish"}, "stdin must be bytes, not str"),
        ({"on_stdout": 5}, "on_stdout must be a function"),
        ({"on_stderr": "x"}, "on_stderr must be a function"),
    ],
)
def test_how_to_run(kind: type[ExecuteOptions], options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        kind(**options)


@pytest.mark.parametrize(
    ("options", "said"), [({"keep_stdin": "x"}, "keep_stdin must be"), ({"on_exit": 5}, "on_exit must be")]
)
def test_how_to_run_in_the_background(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        SpawnOptions(**options)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((5,), "command must be a text"),
        ((["ls", "-l"],), "command must be a text; arguments come beside it"),
        (("echo", "hello"), "args must be a list, not str"),
        (("echo", [5]), r"args\[0\] must be a text, not 5"),
        (("true", None, {"timeout": 5}), "options must be .*Options.*, not dict"),
        (("true", None, {}), "options must be .*Options.*, not dict"),
    ],
)
async def test_what_to_run(given: tuple[Any, ...], said: str, tmp_path: Path) -> None:
    sandbox = LocalSandbox(tmp_path)
    for run in (sandbox.execute_command, sandbox.processes.spawn):
        with pytest.raises(InvalidArgumentError, match=said):
            await run(*given)
    assert sandbox.status is SandboxStatus.PENDING


async def test_a_process_takes_options_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"options must be SpawnOptions.*, not ExecuteOptions"):
        await LocalSandbox(tmp_path).processes.spawn("true", None, ExecuteOptions())  # type: ignore[arg-type]


@pytest.mark.parametrize("files", [["a"], {"a": "text"}, {5: b"x"}])
async def test_files_to_write(files: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="must be"):
        await LocalSandbox(tmp_path).write_files(files)
    assert list(tmp_path.iterdir()) == []
