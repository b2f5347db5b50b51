"""Run command lines in this process, over storages that outlive one command."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import SplitResult

import pytest
import typer

from moorage import (
    CommandSpec,
    Entry,
    Filesystem,
    Kind,
    Limits,
    MemoryProvider,
    Provider,
    ProviderOptions,
    ProviderSpec,
    ReadOnly,
    Registry,
    Stat,
    StoragePath,
    Tracing,
    UnavailableError,
    hookimpl,
)
from moorage.cli import main


class HostileProvider(MemoryProvider):
    """Lists names that no path, and no terminal, should meet; sweeps leftovers."""

    swept: float | None = None

    async def list(self, path: StoragePath, *, recursive: bool = False) -> Any:
        yield Entry(None, Stat(Kind.FILE, size=1), raw_name=b"\x1b[2Jodd\xff")
        yield Entry(StoragePath("/red\x9b31m"), Stat(Kind.FILE, size=1))
        yield Entry(StoragePath("/\u202egpj.exe"), Stat(Kind.FILE, size=1))

    async def sweep_leftovers(self, older_than: float) -> int:
        HostileProvider.swept = older_than
        return 3


class FailingProvider(MemoryProvider):
    async def start(self) -> None:
        raise UnavailableError("the store cannot be reached")


class KeptOptions(ProviderOptions):
    """``kept://name``: the same storage in every command of a test."""

    name: str
    kept: ClassVar[dict[str, Provider]] = {}

    def build(self) -> Filesystem:
        kinds: dict[str, Callable[[], Provider]] = {
            "hostile": HostileProvider,
            "hostile-limited": lambda: Limits(HostileProvider(), max_in_flight=4),
            "hostile-traced": lambda: Tracing(HostileProvider()),
            "failing": FailingProvider,
        }
        provider = self.kept.setdefault(self.name, kinds.get(self.name, MemoryProvider)())
        return Filesystem(ReadOnly(provider) if self.read_only else provider)

    @classmethod
    def from_url(cls, url: SplitResult) -> dict[str, object]:
        return {"name": url.netloc}


def shout(ctx: typer.Context, word: str, loud: bool = False) -> None:
    """A plug-in's command, as an author writes it."""
    mounts = sorted(ctx.obj.configuration().mounts)
    ctx.obj.output.record({"word": word, "mounts": mounts}, word.upper() if loud else word)


class TestPlugin:
    __test__ = False

    @hookimpl
    def moorage_providers(self) -> list[ProviderSpec]:
        return [ProviderSpec("kept", "Kept between commands", f"{__name__}:KeptOptions")]

    @hookimpl
    def moorage_commands(self) -> list[CommandSpec]:
        return [
            CommandSpec("shout", "Says a word", f"{__name__}:shout"),
            CommandSpec("unmade", "Cannot be imported", "no_such_module:nothing"),
        ]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def document(self) -> dict[str, Any]:
        [document] = self.documents
        return document


class Runner:
    """``run("ls", "/data")``; the tree has /data, /notes, and /frozen, which is read-only."""

    def __init__(self, capfd: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capfd = capfd
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Result:
        if stdin is not None:
            self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments, registry=Registry([TestPlugin()]))
        out, err = (printed.decode("utf-8", "surrogateescape") for printed in self._capfd.readouterr())
        return Result(code, out, err)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with a moorage.toml, and the current one."""
    mounts = {"/data": ("data", "false"), "/notes": ("notes", "false"), "/frozen": ("data", "true")}
    (tmp_path / "moorage.toml").write_text(
        "\n".join(
            f'[mounts."{path}"]\nprovider = "kept"\nname = "{name}"\nread_only = {read_only}'
            for path, (name, read_only) in mounts.items()
        )
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOORAGE_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    yield tmp_path
    KeptOptions.kept.clear()


@pytest.fixture
def run(workspace: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(capfdbinary, monkeypatch)
