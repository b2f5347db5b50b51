"""The registry: one broken plug-in is named and skipped, the others go on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from moorage import CommandSpec, ConfigError, ProviderSpec, Registry, hookimpl
from moorage.plugins import nearest

MakePlugin = Callable[..., EntryPoint]

GOOD = ProviderSpec("good", "A good one", "moorage.memory_options:MemoryOptions")


def plugin(name: str, *providers: object, commands: tuple[object, ...] = ()) -> ModuleType:
    """A module with hooks, as an author writes it."""

    @hookimpl
    def moorage_providers() -> list[object]:
        return list(providers)

    @hookimpl
    def moorage_commands() -> list[object]:
        return list(commands)

    module = ModuleType(name)
    vars(module).update(moorage_providers=moorage_providers, moorage_commands=moorage_commands)
    return module


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., EntryPoint]:
    """Make an entry point to a module, or to a name that cannot be imported."""

    def make(name: str, target: ModuleType | str) -> EntryPoint:
        if isinstance(target, ModuleType):
            monkeypatch.setitem(sys.modules, target.__name__, target)
            return EntryPoint(name, target.__name__, "moorage")
        return EntryPoint(name, target, "moorage")

    return make


def test_core_registers_its_own_provider_like_a_stranger() -> None:
    registry = Registry()
    assert registry.providers["memory"].summary
    assert registry.options("memory").__name__ == "MemoryOptions"


def test_a_broken_plugin_is_named_and_the_others_go_on(installed: MakePlugin) -> None:
    raising = ModuleType("raising_plugin")

    @hookimpl
    def moorage_providers() -> list[ProviderSpec]:
        raise RuntimeError("no luck")

    vars(raising)["moorage_providers"] = moorage_providers
    registry = Registry(
        installed=[
            installed("missing", "no_such_module_anywhere"),
            installed("good", plugin("good_plugin", GOOD)),
            installed("raising", raising),
        ]
    )
    assert dict(registry.providers) == {"good": GOOD}
    assert "no_such_module_anywhere" in registry.broken["missing"]
    assert registry.broken["raising"] == "RuntimeError: no luck"


def test_a_plugin_that_exits_on_import_does_not_end_the_program(
    installed: MakePlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exiting_plugin.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry(installed=[installed("exiting", "exiting_plugin")])
    assert "SystemExit: 3" in registry.broken["exiting"]


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> ModuleType:
    """A module with a hook that raises."""

    @hookimpl
    def moorage_providers() -> list[ProviderSpec]:
        raise error

    module = ModuleType("raising")
    vars(module)["moorage_providers"] = moorage_providers
    return module


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BaseExceptionGroup("no luck", [SystemExit(3)]), "BaseExceptionGroup: no luck (1 sub-exception)"),
        (ExceptionGroup("no luck", [RuntimeError()]), "ExceptionGroup: no luck (1 sub-exception)"),
        (SystemExit(3), "SystemExit: 3"),
        (UnspeakableError(), "UnspeakableError"),
    ],
)
def test_whatever_a_hook_raises_breaks_its_plugin_alone(error: BaseException, reason: str) -> None:
    registry = Registry([raising(error), plugin("good", GOOD)], installed=())
    assert dict(registry.providers) == {"good": GOOD}
    assert dict(registry.broken) == {"raising": reason}


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), BaseExceptionGroup("", [BaseExceptionGroup("", [KeyboardInterrupt()])])]
)
def test_an_interrupt_within_a_hook_goes_on(error: BaseException) -> None:
    with pytest.raises(type(error)):
        Registry([raising(error)], installed=())


@pytest.mark.parametrize("raised", ["SystemExit(3)", "BaseExceptionGroup('', [SystemExit(3)])"])
def test_an_options_module_that_ends_the_program_is_named(
    raised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_options.py").write_text(f"raise {raised}\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry([plugin("p", ProviderSpec("x", "x", "ending_options:Options"))], installed=())
    with pytest.raises(ConfigError, match="cannot import ending_options:Options: "):
        registry.options("x")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (ProviderSpec("Bad Scheme", "x", "a:B"), "does not match"),
        (ProviderSpec("", "x", "a:B"), "does not match"),
        (ProviderSpec("x", "x", "no-colon"), "is not 'module:name'"),
        (ProviderSpec("x", "x", "module:"), "is not 'module:name'"),
        (ProviderSpec("x", "two\nlines", "a:B"), "one line"),
        (ProviderSpec("x", " ", "a:B"), "one line"),
        ("s3", "returned a str, not a ProviderSpec"),
    ],
)
def test_a_wrong_specification_is_refused_with_the_reason(spec: object, reason: str) -> None:
    registry = Registry([plugin("wrong", spec)], installed=())
    assert dict(registry.providers) == {}
    assert reason in registry.broken["wrong"]


def test_nothing_of_a_refused_plugin_is_taken() -> None:
    bad = ProviderSpec("good", "The same scheme again", "a:B")
    commands = (CommandSpec("extra", "A command", "a:b"),)
    registry = Registry([plugin("twice", GOOD, bad, commands=commands)], installed=())
    assert dict(registry.providers) == {}
    assert dict(registry.commands) == {}
    assert "taken already" in registry.broken["twice"]


def test_the_first_of_two_plugins_keeps_the_scheme() -> None:
    registry = Registry([plugin("one", GOOD), plugin("two", GOOD)], installed=())
    assert dict(registry.providers) == {"good": GOOD}
    assert "'good' is taken already" in registry.broken["two"]


def test_a_hook_with_a_misspelled_name_is_broken() -> None:
    @hookimpl
    def moorage_provider() -> list[ProviderSpec]:
        return []

    module = ModuleType("misspelled")
    vars(module)["moorage_provider"] = moorage_provider
    assert "moorage_provider" in Registry([module], installed=()).broken["misspelled"]


def test_a_hook_with_arguments_that_are_not_given_is_broken() -> None:
    @hookimpl
    def moorage_providers(config: object) -> list[ProviderSpec]:
        return []

    module = ModuleType("asking")
    vars(module)["moorage_providers"] = moorage_providers
    assert "config" in Registry([module], installed=()).broken["asking"]


def test_a_module_without_hooks_is_broken() -> None:
    assert "no hook" in Registry([ModuleType("empty")], installed=()).broken["empty"]


def test_one_module_under_two_names_counts_once(installed: MakePlugin) -> None:
    module = plugin("shared_plugin", GOOD)
    registry = Registry(installed=[installed("a", module), installed("b", module)])
    assert dict(registry.providers) == {"good": GOOD}
    assert "registered already" in registry.broken["b"]


def test_two_broken_plugins_of_one_name_are_both_named() -> None:
    registry = Registry([ModuleType("empty"), ModuleType("empty")], installed=())
    assert list(registry.broken) == ["empty", "empty (2)"]


def test_an_unknown_scheme_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"'memry'; did you mean 'memory'\?"):
        Registry().options("memry")


def test_the_scheme_of_a_broken_plugin_says_why() -> None:
    registry = Registry([ModuleType("s3")], installed=())
    with pytest.raises(ConfigError, match="plug-in of provider 's3' is broken: implements no hook"):
        registry.options("s3")


def test_an_options_class_that_cannot_be_imported_is_named() -> None:
    registry = Registry([plugin("p", ProviderSpec("x", "x", "no_such_module:Options"))], installed=())
    with pytest.raises(ConfigError, match="cannot import no_such_module:Options"):
        registry.options("x")


def test_options_that_are_no_class_are_refused() -> None:
    registry = Registry([plugin("p", ProviderSpec("x", "x", "moorage.plugins:nearest"))], installed=())
    with pytest.raises(ConfigError, match="is not a class"):
        registry.options("x")


def test_commands_load_when_they_are_asked_for() -> None:
    commands = (CommandSpec("near", "Says what is near", "moorage.plugins:nearest"),)
    registry = Registry([plugin("p", commands=commands)], installed=())
    assert registry.command("near") is nearest
    with pytest.raises(ConfigError, match=r"'nar'; did you mean 'near'\?"):
        registry.command("nar")


def test_two_registries_share_nothing() -> None:
    assert "good" in Registry([plugin("one", GOOD)], installed=()).providers
    assert "good" not in Registry(installed=()).providers


def test_the_mappings_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        Registry(installed=()).providers["x"] = GOOD  # type: ignore[index]
