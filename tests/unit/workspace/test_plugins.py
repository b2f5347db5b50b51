"""Tools and sandboxes that other packages bring: one broken plug-in is named and skipped, the others go on."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from moorage import ConfigError, ProviderSpec, Registry, hookimpl
from moorage_workspace import Sandbox
from moorage_workspace.hookspecs import SandboxSpec, ToolSpec
from moorage_workspace.plugins import Plugins

TOOL = ToolSpec("workspace_read_file", "Reads", "moorage_workspace.tools.read_file:READ_FILE")
BOX = SandboxSpec("box", "A box", "moorage_workspace.sandbox.local:LocalSandbox")


def plugin(name: str, *specs: object, hook: str = "moorage_workspace_tools") -> ModuleType:
    """A module with a hook, as an author writes it."""

    def bring() -> list[object]:
        return list(specs)

    bring.__name__ = hook
    module = ModuleType(name)
    vars(module)[hook] = hookimpl(bring)
    return module


def sandboxes(name: str, *specs: object) -> ModuleType:
    return plugin(name, *specs, hook="moorage_workspace_sandboxes")


def test_the_package_brings_its_own_sandboxes_like_a_stranger() -> None:
    plugins = Plugins()
    assert {"local", "container"} <= set(plugins.sandboxes)
    for name in ("local", "container"):
        made = plugins.sandbox(name)
        assert isinstance(made, type)
        assert issubclass(made, Sandbox)


def test_core_takes_a_package_that_brings_only_tools_or_sandboxes() -> None:
    assert "workspace" not in Registry().broken
    assert dict(Registry([sandboxes("boxes", BOX)], installed=()).broken) == {}


def test_core_still_refuses_a_hook_of_its_own_that_is_misspelt() -> None:
    assert "moorage_provider" in Registry([plugin("typo", hook="moorage_provider")], installed=()).broken["typo"]


def test_tools_and_sandboxes_are_found_by_name_and_loaded_when_asked() -> None:
    plugins = Plugins([plugin("tools", TOOL), sandboxes("boxes", BOX)], installed=())
    assert (dict(plugins.tools), dict(plugins.sandboxes)) == ({TOOL.key: TOOL}, {"box": BOX})
    assert plugins.tool(TOOL.key).key == TOOL.key
    assert plugins.sandbox("box").__name__ == "LocalSandbox"


def test_a_provider_of_storage_is_none_of_ours() -> None:
    storage = plugin("storage", ProviderSpec("x", "X", "x:X"), hook="moorage_providers")
    plugins = Plugins([storage], installed=())
    assert (dict(plugins.tools), dict(plugins.sandboxes), dict(plugins.broken)) == ({}, {}, {})


def raising(error: BaseException) -> ModuleType:
    def bring() -> list[object]:
        raise error

    bring.__name__ = "moorage_workspace_tools"
    module = ModuleType("raising")
    vars(module)["moorage_workspace_tools"] = hookimpl(bring)
    return module


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (raising(RuntimeError("no luck")), "RuntimeError: no luck"),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(BaseExceptionGroup("no luck", [SystemExit(3)])), "BaseExceptionGroup: no luck"),
        (ModuleType("raising"), "implements no hook"),
        (plugin("raising", BOX), "returned a SandboxSpec, not a ToolSpec"),
        (plugin("raising", TOOL, TOOL), "is taken already"),
        (plugin("raising", ToolSpec("a b", "x", "a:b")), "does not match"),
        (plugin("raising", ToolSpec("a", "x", "a.b")), "is not 'module:name'"),
        (plugin("raising", ToolSpec("a", "x\ny", "a:b")), "not one line"),
        (sandboxes("raising", SandboxSpec("Box", "x", "a:b")), "does not match"),
        (plugin("raising", hook="moorage_workspace_tolls"), "hooks that do not exist: moorage_workspace_tolls"),
    ],
)
def test_a_broken_plugin_is_named_and_the_others_go_on(broken: ModuleType, reason: str) -> None:
    plugins = Plugins([broken, sandboxes("boxes", BOX)], installed=())
    assert reason in plugins.broken["raising"]
    assert (dict(plugins.tools), dict(plugins.sandboxes)) == ({}, {"box": BOX})


def test_nothing_of_a_broken_plugin_is_taken() -> None:
    assert dict(Plugins([plugin("half", TOOL, ToolSpec("a b", "x", "a:b"))], installed=()).tools) == {}


def test_one_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "good_boxes", sandboxes("good_boxes", BOX))
    installed = [EntryPoint("missing", "no_such_module", "moorage"), EntryPoint("good", "good_boxes", "moorage")]
    plugins = Plugins(installed=installed)
    assert dict(plugins.sandboxes) == {"box": BOX}
    assert "no_such_module" in plugins.broken["missing"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("no_such_module:x", "cannot import"),
        ("moorage_workspace.sandbox.port:Nothing", "cannot import"),
        ("moorage_workspace.sandbox.port:annotations", "is not a tool"),
        ("moorage_workspace.tools.write_file:WRITE_FILE", "is not a tool with this key"),
    ],
)
def test_a_target_that_is_no_tool_is_told_when_it_is_asked_for(target: str, reason: str) -> None:
    plugins = Plugins([plugin("tools", ToolSpec("mine", "x", target))], installed=())
    with pytest.raises(ConfigError, match=reason):
        plugins.tool("mine")


def test_what_nobody_brings_is_told_with_what_there_is() -> None:
    plugins = Plugins([plugin("tools", TOOL), sandboxes("boxes", BOX)], installed=())
    with pytest.raises(ConfigError, match="workspace_read_file"):
        plugins.tool("other")
    with pytest.raises(ConfigError, match="box"):
        plugins.sandbox("other")
