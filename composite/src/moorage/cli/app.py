"""Every command of ``moorage``, each bound to one session."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Final

import typer
from rich.markup import escape

from moorage.cli import demo, doctor, listing, new_provider, providers, reading, setup, transfers, writing
from moorage.cli.binding import ConfigOption, DebugOption, JsonOption, MountOption, bind
from moorage.cli.help import Command, Group
from moorage.cli.output import plain
from moorage.cli.session import Session
from moorage.errors import ConfigError
from moorage.hookspecs import CommandSpec

_COMMANDS: Final[tuple[tuple[str, Callable[..., Any], str], ...]] = (
    ("demo", demo.demo, "moorage demo"),
    ("init", setup.init, "moorage init"),
    ("providers", providers.providers, "moorage providers"),
    ("doctor", doctor.doctor, "moorage doctor --fix"),
    ("ls", listing.ls, "moorage ls --long /data"),
    ("tree", listing.tree, "moorage tree /data --depth 2"),
    ("find", listing.find, "moorage find /data --name '*.csv' --size +10k --newer 2d"),
    ("du", listing.du, "moorage du /data /notes"),
    ("cat", reading.cat, "moorage cat /notes/plan.md --range 0:100"),
    ("stat", reading.stat, "moorage stat /notes/plan.md"),
    ("write", writing.write, "echo one | moorage write /notes/plan.md --no-overwrite"),
    ("mkdir", writing.mkdir, "moorage mkdir --parents /data/2026/01"),
    ("rm", writing.rm, "moorage rm --recursive /data/old"),
    ("cp", transfers.cp, "moorage cp --recursive local:./reports /data"),
    ("mv", transfers.mv, "moorage mv /data/draft.md /notes/plan.md"),
    ("new-provider", new_provider.new_provider, "moorage new-provider acme"),
)


def build_app(session: Session) -> typer.Typer:
    """The command line of one session: our commands, and those of the plug-ins."""
    app = typer.Typer(
        name="moorage",
        cls=Group,
        help="One safe file tree over many storages.",
        epilog=_example("moorage demo"),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_global_options(session))
    taken: set[str] = set()
    for name, function, example in _COMMANDS:
        app.command(name, cls=Command, epilog=_example(example))(bind(session, function))
        taken.add(name)
    for name, spec in session.registry.commands.items():
        if name not in taken:
            epilog = _example(plain(spec.example)) if spec.example else None
            app.command(name, cls=Command, help=escape(plain(spec.summary)), epilog=epilog)(
                _plugin_command(session, spec)
            )
    return app


def _example(line: str) -> str:
    return f"Example: [bold]{escape(line)}[/]"


def _global_options(session: Session) -> Callable[..., None]:
    def options(
        ctx: typer.Context,
        config: ConfigOption = None,
        mount: MountOption = None,
        json: JsonOption = False,
        debug: DebugOption = False,
        show_version: Annotated[
            bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
        ] = False,
    ) -> None:
        ctx.obj = session
        session.configure(config, mount or (), debug=debug)

    options.__annotations__ |= {
        "ctx": typer.Context,
        "config": ConfigOption,
        "mount": MountOption,
        "json": JsonOption,
        "debug": DebugOption,
    }
    return options


def _plugin_command(session: Session, spec: CommandSpec) -> Callable[..., None]:
    """The command of a plug-in; one that cannot be imported says so when it is called, and breaks no other."""
    try:
        function = session.registry.command(spec.name)
    except ConfigError as error:
        reason = error

        def function() -> None:
            raise reason

    return bind(session, function)


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"moorage {version('moorage-core')}")
        except PackageNotFoundError:
            print("moorage, not installed")
        raise typer.Exit
