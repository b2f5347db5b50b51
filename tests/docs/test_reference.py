"""What the pages list is what the code has: methods, arguments, errors, hooks, fields, commands, exit codes."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args

import pytest
from tests.docs.blocks import ROOT, table_rows

from moorage import errors, hookspecs, models, wrappers
from moorage import provider as contract
from moorage.cli import app, failures
from moorage.config import ProviderOptions
from moorage.filesystem import Filesystem
from moorage.objects import ObjectClient, ObjectFeatures, client
from moorage.provider import Provider
from moorage.testing import Harness, ProviderConformance
from moorage_gcs import GCSFilesystem, GCSOptions
from moorage_local import LocalFilesystem
from moorage_s3 import S3Filesystem, S3Options
from moorage_workspace import CODING, LocalSandbox, SandboxLimits, Workspace, config
from moorage_workspace import errors as workspace_errors
from moorage_workspace import hookspecs as workspace_hookspecs
from moorage_workspace.offering import built_in_tools

GUIDE = ROOT / "docs" / "guide.md"
AUTHORS = ROOT / "docs" / "authors.md"
STORES = ROOT / "docs" / "stores.md"
WORKSPACE = ROOT / "docs" / "workspace.md"

CONSTANTS = {
    id(value): name
    for module in (contract, client)
    for name, value in vars(module).items()
    if name.isupper() and not isinstance(value, str)
}


def signature_of(function: Callable[..., Any]) -> str:
    """``name(argument, *, option=default)``, as the tables write it."""
    parameters = [item for item in inspect.signature(function).parameters.values() if item.name != "self"]
    shown: list[str] = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        default = parameter.default
        if default is inspect.Parameter.empty:
            shown.append(parameter.name)
        else:
            shown.append(f"{parameter.name}={CONSTANTS.get(id(default), repr(default))}")
    return f"{function.__name__}({', '.join(shown)})"


def public(cls: type[object]) -> dict[str, Any]:
    """The functions that a class itself defines for others to call."""
    return {name: item for name, item in vars(cls).items() if inspect.isfunction(item) and not name.startswith("_")}


def options_of(cls: type[object]) -> list[list[str]]:
    """Every argument of a class with its default, as the tables write them."""
    found: list[list[str]] = []
    for parameter in inspect.signature(cls).parameters.values():
        required = parameter.default is inspect.Parameter.empty
        found.append([f"`{parameter.name}`", "" if required else f"`{parameter.default!r}`"])
    return found


def first_cells(page: Any, heading: str) -> list[str]:
    return [row[0].strip("`") for row in table_rows(page, heading)]


def test_every_method_of_a_filesystem_with_its_arguments() -> None:
    listed = first_cells(GUIDE, "Methods")
    assert sorted(listed) == sorted(signature_of(method) for method in public(Filesystem).values())


def test_every_primitive_of_a_provider_with_its_arguments() -> None:
    listed = first_cells(AUTHORS, "The provider contract")
    assert sorted(listed) == sorted(signature_of(primitive) for primitive in public(Provider).values())


def test_every_operation_of_an_object_client_with_its_arguments() -> None:
    listed = first_cells(AUTHORS, "The object store port")
    assert sorted(listed) == sorted(signature_of(operation) for operation in public(ObjectClient).values())


def test_every_feature_with_its_default() -> None:
    page = AUTHORS.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| `(\S+)` \| ", page, flags=re.MULTILINE)
    assert listed == [(field.name, repr(field.default)) for field in fields(ObjectFeatures)]


def test_every_wrapper_with_its_arguments() -> None:
    listed = first_cells(GUIDE, "Wrappers")
    classes = [getattr(wrappers, name) for name in wrappers.__all__ if inspect.isclass(getattr(wrappers, name))]
    assert sorted(listed) == sorted(signature_of(cls) for cls in classes)


def test_the_local_filesystem_with_its_arguments() -> None:
    assert f"`{signature_of(LocalFilesystem)}`" in " ".join(GUIDE.read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("heading", "options", "filesystem"),
    [("Options of S3", S3Options, S3Filesystem), ("Options of GCS", GCSOptions, GCSFilesystem)],
)
def test_every_option_of_a_store_with_its_default(
    heading: str, options: type[ProviderOptions], filesystem: Callable[..., Any]
) -> None:
    fields = {name: field for name, field in options.model_fields.items() if name not in ProviderOptions.model_fields}
    listed = [row[:2] for row in table_rows(STORES, heading)]
    shown = {name: "" if field.is_required() else f"`{field.default!r}`" for name, field in fields.items()}
    assert listed == [[f"`{name}`", default] for name, default in shown.items()]
    positional = [name for name in inspect.signature(filesystem).parameters if name in fields]
    assert positional[:2] == ["bucket", "prefix"]


def test_every_value_of_conditional_write() -> None:
    for options in (S3Options, GCSOptions):
        values = get_args(options.model_fields["conditional_write"].annotation)
        assert sorted(first_cells(STORES, "Stale writes")) == sorted(f'"{value}"' for value in values)


def test_every_error_with_its_code_and_builtin() -> None:
    found: list[list[str]] = []
    for cls in vars(errors).values():
        if inspect.isclass(cls) and issubclass(cls, errors.MoorageError) and cls is not errors.MoorageError:
            builtin = next(base for base in cls.__mro__ if getattr(builtins, base.__name__, None) is base)
            found.append([f"`{cls.__name__}`", f"`{cls.code}`", f"`{builtin.__name__}`"])
            when = next(row[3] for row in table_rows(GUIDE, "Errors") if row[0] == found[-1][0])
            assert cls.retryable_by_default == ("retryable" in when), cls
    assert [row[:3] for row in table_rows(GUIDE, "Errors")] == found


@pytest.mark.parametrize("heading", ["Options", "Answers"])
def test_every_field_of_what_crosses_the_contract(heading: str) -> None:
    for name, listed in table_rows(AUTHORS, heading):
        cls = getattr(models, name.strip("`"))
        assert re.findall(r"`(\w+)`", listed) == [field.name for field in fields(cls)]


def test_every_hook_and_the_fields_of_what_it_returns() -> None:
    hooks = [item for name, item in vars(hookspecs).items() if hasattr(item, f"{hookspecs.PROJECT}_spec")]
    rows = table_rows(AUTHORS, "Options and registration")
    assert [row[0].strip("`") for row in rows] == [signature_of(hook) for hook in hooks]
    specs: list[Any] = [hookspecs.ProviderSpec, hookspecs.CommandSpec]
    for (_, returns), cls in zip(rows, specs, strict=True):
        assert f"`{cls.__name__}({', '.join(field.name for field in fields(cls))})`" in returns


def test_every_hook_of_the_conformance_suite() -> None:
    listed = first_cells(AUTHORS, "The conformance suite")
    own = {"put", "names", "content"}  # what the suite itself uses
    hooks = [item for name, item in public(Harness).items() if name not in own and not _is_fixture(item)]
    assert sorted(listed) == sorted(signature_of(hook) for hook in hooks)
    assert issubclass(ProviderConformance, Harness)
    assert {"keeps_content_in_process", "reported_as"} <= set(Harness.__annotations__)


def _is_fixture(function: Callable[..., Any]) -> bool:
    return hasattr(function, "_pytestfixturefunction") or type(function).__name__ == "FixtureFunctionDefinition"


def test_every_command() -> None:
    assert first_cells(GUIDE, "Command line") == [name for name, _, _ in app._COMMANDS]


def test_every_exit_code() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d+) \| ", text, flags=re.MULTILINE)}
    known = {0, failures.FAILED, failures.USAGE, failures.INTERRUPTED, failures.BROKEN_PIPE}
    assert listed == known | {code for _, code in failures._CODES}


def test_every_tool_with_its_parameters_and_names() -> None:
    found: list[list[str]] = []
    for tool in built_in_tools():
        parameters = ", ".join(f"`{name}`" for name in tool.arguments.model_fields)
        changing = "no" if tool.annotations.read_only else "yes"
        found.append([f"`{tool.key}`", parameters, f"`{CODING.tools[tool.key].name}`", changing])
    assert table_rows(WORKSPACE, "Tools") == found


def test_every_key_of_the_configuration_of_tools() -> None:
    assert sorted(first_cells(WORKSPACE, "For all tools")) == sorted(config._OVERALL)
    assert sorted(first_cells(WORKSPACE, "For one tool")) == sorted(config._COMMON)
    defaults = {row[0].strip("`"): row[1] for row in table_rows(WORKSPACE, "For all tools")}
    checked = config.configure(None, built_in_tools())
    a_tool = next(iter(checked.tools.values()))
    assert defaults == {
        "enabled": f"`{a_tool.enabled!r}`",
        "require_approval": f"`{a_tool.require_approval!r}`",
        "write_lock_timeout": f"`{checked.write_lock_timeout!r}`",
        "hooks": "`None`",
        "profile": "`None`",
    }


def test_every_key_of_a_tools_own_with_its_default() -> None:
    found = [
        [f"`{tool.key}`", f"`{key}`", "`BackgroundProcesses()`" if key == "background_processes" else f"`{default!r}`"]
        for tool in built_in_tools()
        for key, default in tool.options.items()
    ]
    assert [row[:3] for row in table_rows(WORKSPACE, "Of one tool alone")] == found


def test_the_caps_of_outputs() -> None:
    row = next(row for row in table_rows(WORKSPACE, "For one tool") if row[0] == "`max_output_tokens`")
    usual, *others = re.findall(r"`(\d+)`", row[1])
    exceptions = dict(zip(re.findall(r"`(workspace_\w+)`", row[1]), others, strict=True))
    for tool in built_in_tools():
        assert str(tool.max_output_tokens) == exceptions.get(tool.key, usual), tool.key


@pytest.mark.parametrize(
    ("heading", "cls"), [("Options of a workspace", Workspace), ("The local sandbox", LocalSandbox)]
)
def test_every_option_of_the_workspace_and_its_sandbox_with_its_default(heading: str, cls: type[object]) -> None:
    assert [row[:2] for row in table_rows(WORKSPACE, heading)] == options_of(cls)


def test_the_limits_of_a_sandbox() -> None:
    row = next(row for row in table_rows(WORKSPACE, "The local sandbox") if row[0] == "`limits`")
    assert row[2] == f"`{SandboxLimits()!r}`"


def test_every_code_of_a_result_that_is_the_workspaces_own() -> None:
    of_storages = {cls.code for cls in vars(errors).values() if inspect.isclass(cls) and hasattr(cls, "code")}
    own = {str(refusal) for refusal in workspace_errors.Refusal}
    for cls in vars(workspace_errors).values():
        if inspect.isclass(cls) and issubclass(cls, errors.MoorageError):
            own.add(cls.code)
    constructing = {workspace_errors.NoProvidersError.code}
    assert set(first_cells(WORKSPACE, "Result codes")) == own - of_storages - constructing


def test_every_hook_of_the_workspace_and_the_fields_of_what_it_returns() -> None:
    hooks = [item for item in vars(workspace_hookspecs).values() if hasattr(item, "moorage_spec")]
    rows = table_rows(WORKSPACE, "Plug-ins")
    assert [row[0].strip("`") for row in rows] == [signature_of(hook) for hook in hooks]
    specs: list[Any] = [workspace_hookspecs.ToolSpec, workspace_hookspecs.SandboxSpec]
    for (_, returns), cls in zip(rows, specs, strict=True):
        assert f"`{cls.__name__}({', '.join(field.name for field in fields(cls))})`" in returns
