"""What cannot be is refused when it is given, with words that name it, and never shown where it may be a secret."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.workspace.toys import LOOK, ToySandbox, choose_memory, choose_sandbox

from moorage import ConfigError, InvalidArgumentError, MemoryFilesystem, MemoryProvider, StoragePath, TenantCache
from moorage_workspace import (
    WORKSPACE_TOOLS,
    Approval,
    ApprovalRule,
    BackgroundProcesses,
    Hooks,
    InstructionOptions,
    JsonLinesSink,
    LoggingSink,
    Naming,
    Profile,
    SystemClock,
    Tool,
    Workspace,
)

pytestmark = pytest.mark.anyio

FILES, SHELL = WORKSPACE_TOOLS.FILESYSTEM, WORKSPACE_TOOLS.SANDBOX
MOUNTS = {"/a": MemoryFilesystem()}


async def key_later(context: object) -> str:
    return "key"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sandbox_cache_key": str}, "sandbox_cache_key is for a sandbox that is a function"),
        ({"sandbox": ToySandbox(), "sandbox_cache_key": str}, "sandbox_cache_key is for a sandbox that is a function"),
        ({"sandbox": choose_sandbox, "sandbox_cache_key": 5}, "sandbox_cache_key must be a function, not 5"),
        ({"sandbox": choose_sandbox, "sandbox_cache_key": key_later}, "plain function, not a coroutine function"),
        ({"on_mount": print}, "give mounts and a sandbox"),
        ({"on_mount": print, "sandbox": ToySandbox()}, "give mounts and a sandbox"),
        ({"on_mount": print, "filesystem": None, "mounts": MOUNTS}, "give mounts and a sandbox"),
        ({"on_mount": 5, "filesystem": None, "mounts": MOUNTS, "sandbox": ToySandbox()}, "on_mount must be a function"),
        ({"nested_mounts": True}, "nested_mounts is about mounts"),
        ({"nested_mounts": "no"}, "nested_mounts must be true or false, not 'no'"),
        ({"filesystem": MemoryFilesystem}, "filesystem must be .*, not the class MemoryFilesystem"),
        ({"filesystem": MemoryProvider}, "not the class MemoryProvider"),
        ({"filesystem": TenantCache}, "not the class TenantCache"),
        ({"filesystem": dict}, "not the class dict"),
        ({"filesystem": MOUNTS}, "a mapping of paths to several is mounts"),
        ({"filesystem": None, "mounts": [MemoryFilesystem()]}, "mounts must be a mapping of paths to filesystems"),
        ({"filesystem": None, "mounts": MemoryFilesystem()}, "mounts must be a mapping of paths to filesystems"),
        ({"filesystem": None, "mounts": {"/a": MemoryFilesystem}}, r"mounts\['/a'\] must be .*, not the class"),
        ({"filesystem": None, "mounts": {"/a": "/srv"}}, r"mounts\['/a'\] must be a Filesystem"),
        ({"sandbox": ToySandbox}, "sandbox must be .*, not the class ToySandbox"),
        ({"tools": []}, "tools must be a mapping of WORKSPACE_TOOLS"),
        ({"tools": [FILES.READ_FILE]}, "extra_tools"),
        ({"tools": "read"}, "tools must be a mapping"),
        ({"tools": {"enabled": bool}}, "tools.enabled must be true, false or a function, not the class bool"),
        ({"tools": {"hooks": {"before_tool_call": dict}}}, "hooks.before_tool_call must be a function"),
        ({"tools": {"hooks": Hooks}}, "hooks must be a mapping or Hooks, not the class Hooks"),
        ({"tools": {SHELL.EXECUTE_COMMAND: {"background_processes": {"on_stdot": print}}}}, "nearest is 'on_stdout'"),
        ({"tools": {SHELL.EXECUTE_COMMAND: {"background_processes": {"on_exit": 5}}}}, "on_exit must be a function"),
        ({"tools": {"profile": Profile("x", {"workspace_red_file": Naming("r")})}}, "nearest is 'workspace_read_file'"),
        ({"tools": {"profile": Profile("x", {FILES.READ_FILE: "r"})}}, "must be a Naming"),  # type: ignore[dict-item]
        ({"tools": {"profile": Profile("x", [1])}}, "the profile's tools must be a mapping"),  # type: ignore[arg-type]
        ({"extra_tools": [print]}, r"extra_tools\[0\] must be a Tool"),
        ({"extra_tools": LOOK}, "extra_tools must be a list"),
        ({"extra_tools": {"look": LOOK}}, "extra_tools must be a list"),
        ({"extra_tools": [Tool]}, r"extra_tools\[0\] must be a Tool, .*, not the class Tool"),
        ({"audit": ["x"]}, r"audit\[0\] must be a function"),
        ({"audit": [print, LoggingSink]}, r"audit\[1\] must be .*, not the class LoggingSink"),
        ({"count_tokens": 5}, "count_tokens must be a function, not 5"),
        ({"count_tokens": str}, "count_tokens must be a function, not the class str"),
        ({"count_tokens": key_later}, "count_tokens must be a plain function"),
        ({"instructions": "be good"}, "instructions must be a mapping"),
        ({"instructions": {"dynamic_sandbx": "resolve"}}, "nearest is 'dynamic_sandbox'"),
        ({"name": ""}, "name must be a text"),
        ({"approver": Approval}, "approver must be .*, not the class Approval"),
        ({"clock": SystemClock}, "clock must be a Clock .*, not the class SystemClock"),
        ({"clock": 5}, "clock must be a Clock"),
    ],
)
def test_options_of_a_workspace(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Workspace(**{"filesystem": MemoryFilesystem(), **options})


def test_an_input_of_a_tool_is_a_model() -> None:
    broken = replace(LOOK, arguments=dict)
    with pytest.raises(ConfigError, match=r"extra_tools\[0\]\.arguments must be a subclass of Arguments"):
        Workspace(filesystem=MemoryFilesystem(), extra_tools=[broken])


@pytest.mark.parametrize("secrets", [{"API_KEY": "swordfish"}, ["swordfish", None], [["swordfish"]], 5, None])
def test_secrets_of_which_none_would_be_hidden(secrets: Any) -> None:
    with pytest.raises(ConfigError, match="secrets must be a list") as caught:
        Workspace(filesystem=MemoryFilesystem(), secrets=secrets)
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["tenant", 5, [1]])
async def test_a_context_is_a_mapping(wrong: Any) -> None:
    workspace = Workspace(filesystem=choose_memory)
    with pytest.raises(InvalidArgumentError, match="context must be a mapping"):
        await workspace.tools(wrong)
    with pytest.raises(InvalidArgumentError, match="context must be a mapping"):
        async with workspace.session(wrong):
            pytest.fail("it was opened")


def test_a_key_of_the_sandbox_cache_is_a_text() -> None:
    with pytest.raises(InvalidArgumentError, match="key must be a text"):
        Workspace(sandbox=choose_sandbox).clear_sandbox_cache(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: InstructionOptions("maybe"), "placeholder"),  # type: ignore[arg-type]
        (lambda: JsonLinesSink(""), "path must be a path"),
        (lambda: JsonLinesSink(5), "path must be a path"),  # type: ignore[arg-type]
        (lambda: LoggingSink("audit"), "logger must be a logging.Logger"),  # type: ignore[arg-type]
        (lambda: BackgroundProcesses(on_stdout=5), "on_stdout must be a function"),  # type: ignore[arg-type]
        (lambda: BackgroundProcesses(abort_signal="agent"), "abort_signal must be"),  # type: ignore[arg-type]
        (lambda: BackgroundProcesses(abort_signal=True), "abort_signal must be"),  # type: ignore[arg-type]
        (lambda: BackgroundProcesses(abort_signal=0), "abort_signal must be"),  # type: ignore[arg-type]
    ],
)
def test_what_goes_into_options(make: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Approval("no"), "approved must be true or false"),  # type: ignore[arg-type]
        (lambda: Approval(True, keep="no"), "keep must be true or false"),  # type: ignore[arg-type]
        (lambda: Approval.refused(5), "reason must be a text"),  # type: ignore[arg-type]
        (lambda: ApprovalRule(""), "tool must be a text"),
        (lambda: ApprovalRule("t", below="/out"), "below must be a StoragePath"),  # type: ignore[arg-type]
        (lambda: ApprovalRule("t", command=["ls"]), "command must be a text"),  # type: ignore[arg-type]
        (lambda: ApprovalRule("t", command="ls", background=1), "background must be"),  # type: ignore[arg-type]
        (lambda: ApprovalRule("t", below=StoragePath("/a"), path=StoragePath("/a/b")), "give one"),
        (lambda: ApprovalRule("t", below=StoragePath("/a"), command="ls"), "give one"),
    ],
)
def test_answers_and_rules(make: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        make()


async def test_a_counter_that_fails_costs_no_call(caplog: pytest.LogCaptureFixture) -> None:
    def broken(text: str) -> int:
        raise ValueError("no such model")

    files = MemoryFilesystem()
    await files.write_text("/a", "one\n")
    counters: list[Any] = [broken, lambda text: text, lambda text: -1]
    for counter in counters:
        caplog.clear()
        workspace = Workspace(filesystem=files, count_tokens=counter)
        assert "one" in (await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})).text
        assert not (await workspace.call_tool(FILES.READ_FILE, {"path": "/b"})).ok
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        assert "count_tokens failed" in caplog.text


@pytest.mark.parametrize("answer", ["yes", 0, {"sucess": True}, {"success": "yes"}])
async def test_an_unclear_answer_of_on_mount_is_a_no(answer: object, caplog: pytest.LogCaptureFixture) -> None:
    async with Workspace(mounts=MOUNTS, sandbox=ToySandbox(), on_mount=lambda request: answer) as workspace:
        (mount,) = workspace.shell_mounts
    assert (str(mount.state), mount.message) == ("error", "the application could not mount it")
    assert "on_mount gave no answer" in caplog.text


async def test_why_on_mount_failed_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fails(request: object) -> None:
        raise ValueError("no bucket")

    async with Workspace(mounts=MOUNTS, sandbox=ToySandbox(), on_mount=fails) as workspace:
        (mount,) = workspace.shell_mounts
    assert "no bucket" not in mount.message
    assert "no bucket" in caplog.text
