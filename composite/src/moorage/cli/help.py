"""How help writes what a command takes: ``PATH...``, and no type beside a flag or an argument, whose name says it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


def _usage(options: str, parameters: list[Any]) -> list[str]:
    pieces = [options]
    for argument in (parameter for parameter in parameters if isinstance(parameter, TyperArgument)):
        name = f"{argument.metavar}{'...' if argument.nargs != 1 else ''}"
        pieces.append(name if argument.required else f"[{name}]")
    return pieces


def _named(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperArgument):
            parameter.metavar = parameter.metavar or (parameter.name or "").upper()
            setattr(parameter, "display_type_rich", _nothing)  # noqa: B010 (no type lets a method be replaced)
        elif isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = parameter.metavar or ""
    return parameters


def _nothing(ctx: object) -> None:
    """The type that is shown beside an argument."""


class Command(TyperCommand):
    """A command whose help reads like the others'."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _named(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _usage("[OPTIONS]", self.get_params(ctx))


class Group(TyperGroup):
    """The same for what holds the commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _named(super().get_params(ctx))
