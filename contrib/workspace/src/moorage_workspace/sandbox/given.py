"""What a sandbox is given, checked before anything is started with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import SecretStr

from moorage import Instructions
from moorage_workspace.checks import ARGUMENTS
from moorage_workspace.sandbox.limits import SandboxLimits
from moorage_workspace.sandbox.port import ExecuteOptions

T = TypeVar("T", bound=ExecuteOptions)


def plain_variables(values: object) -> dict[str, str]:
    """Variables with the values of those that are secrets.

    Raises:
        InvalidArgumentError: they are no mapping of texts. No value is repeated.
    """
    plain: dict[str, str] = {}
    given: Mapping[object, object] = ARGUMENTS.mapping("env", values)
    for name, value in given.items():
        shown = value.get_secret_value() if isinstance(value, SecretStr) else value
        if not isinstance(name, str):
            raise ARGUMENTS.wrong("the name of a variable", "a text", name)
        if not isinstance(shown, str):
            raise ARGUMENTS.wrong(f"env[{name!r}]", "a text", value, secret=True)
        plain[name] = shown
    return plain


def checked_command(command: object, args: object, options: object, kind: type[T]) -> T:
    """The options, by default those of their kind, once all three can be.

    Raises:
        InvalidArgumentError: one is not.
    """
    if not isinstance(command, str):
        raise ARGUMENTS.wrong("command", "a text; arguments come beside it, as args", command)
    for number, text in enumerate([] if args is None else ARGUMENTS.listed("args", args)):
        if not isinstance(text, str):
            raise ARGUMENTS.wrong(f"args[{number}]", "a text", text)
    if options is None:
        return kind()
    if not isinstance(options, kind):
        raise ARGUMENTS.wrong("options", f"{kind.__name__}(…)", options)
    return options


def checked_files(files: object) -> Mapping[str, bytes]:
    """Raises: InvalidArgumentError, where they are no mapping of paths to bytes."""
    given: Mapping[object, object] = ARGUMENTS.mapping("files", files)
    for path, data in given.items():
        if not isinstance(path, str):
            raise ARGUMENTS.wrong("a path", "a text", path)
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ARGUMENTS.wrong(f"files[{path!r}]", "bytes", data, secret=True)
    return cast("Mapping[str, bytes]", files)


def checked_limits(limits: object) -> SandboxLimits:
    """``None`` is what :class:`SandboxLimits` says by itself. Raises: InvalidArgumentError."""
    if limits is None or isinstance(limits, SandboxLimits):
        return limits or SandboxLimits()
    raise ARGUMENTS.wrong("limits", "SandboxLimits(…), such as SandboxLimits(processes=64)", limits)


def checked_instructions(instructions: Instructions | None) -> Instructions | None:
    """Raises: InvalidArgumentError, where they are neither a text nor a function."""
    if instructions is not None and not isinstance(instructions, str):
        ARGUMENTS.function("instructions", instructions, "a text, or a function of the default one and the context")
    return instructions
