"""``demo``: a tour of five steps that needs no configuration and leaves nothing behind. Every step is checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from tempfile import TemporaryDirectory
from typing import Final

import anyio

from moorage.cli.output import human_size
from moorage.cli.session import Session
from moorage.composite import CompositeFilesystem
from moorage.config import ProviderOptions
from moorage.config.validation import options_class, validate_options
from moorage.errors import InvalidPathError, MoorageError, ReadOnlyError, StaleFileError, StorageError

Step = Callable[[CompositeFilesystem], Awaitable[str]]

_PLAN: Final = "/notes/plan.md"


async def demo(session: Session) -> None:
    """Show what Moorage does, in memory and in a temporary directory."""
    with TemporaryDirectory(prefix="moorage-demo-") as directory:
        async with _tree(session, directory) as tree:
            for number, (title, step) in enumerate(_STEPS, 1):
                said = await step(tree)
                session.output.record({"step": number, "title": title, "result": said}, f"{number}. {title}", "bold")
                if not session.output.as_json:
                    session.output.record({}, f"   {said}")


def _tree(session: Session, directory: str) -> CompositeFilesystem:
    def options(scheme: str, **values: object) -> ProviderOptions:
        return validate_options(options_class(scheme, session.registry), values, origin="demo")

    on_disk = "local" in session.registry.providers
    notes = options("local", base_path=directory) if on_disk else options("memory")
    mounts = {"/notes": notes, "/scratch": options("memory"), "/archive": options("memory", read_only=True)}
    return CompositeFilesystem({path: chosen.build() for path, chosen in mounts.items()})


async def _several_storages(tree: CompositeFilesystem) -> str:
    await tree.write_text(_PLAN, "one\n")
    await tree.write_text("/scratch/2026/january.csv", "day,count\n1,42\n")
    mounts = [entry for entry in await tree.list_dir("/") if entry.mount is not None]
    _expect(len(mounts) == 3)
    return ", ".join(f"/{entry.name} is {entry.mount.provider}" for entry in mounts if entry.mount)


async def _stale_writes(tree: CompositeFilesystem) -> str:
    seen = await tree.stat(_PLAN)
    won: list[str] = []
    lost: list[str] = []

    async def write(name: str) -> None:
        try:
            await tree.write_text(_PLAN, f"by {name}\n", expected_version=seen.version or "")
            won.append(name)
        except StaleFileError:
            lost.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, "Ann")
        tasks.start_soon(write, "Ben")
    _expect(len(won) == len(lost) == 1 and await tree.read_text(_PLAN) == f"by {won[0]}\n")
    return f"{won[0]} and {lost[0]} wrote what both had read: {won[0]}'s write landed, {lost[0]}'s was refused"


async def _read_only(tree: CompositeFilesystem) -> str:
    refusal = await _refused(ReadOnlyError, tree.copy(_PLAN, "/archive/plan.md"))
    return f"a copy into the read-only mount: {refusal}"


async def _no_way_out(tree: CompositeFilesystem) -> str:
    refusal = await _refused(InvalidPathError, tree.read_text("/notes/../../etc/passwd"))
    return f"a path that climbs: {refusal}"


async def _across_mounts(tree: CompositeFilesystem) -> str:
    await tree.copy("/scratch/2026", "/notes/2026", recursive=True)
    found = [str(entry.path) async for entry in tree.glob("/**/*.csv")]
    usage = await tree.du("/notes")
    _expect(sorted(found) == ["/notes/2026/january.csv", "/scratch/2026/january.csv"])
    return f"a tree copied from memory to /notes, found in both: {', '.join(found)}; /notes: {human_size(usage.size)}"


_STEPS: Final[tuple[tuple[str, Step], ...]] = (
    ("Several storages, one tree", _several_storages),
    ("A stale write is refused", _stale_writes),
    ("Read-only has no way round", _read_only),
    ("Nothing leaves the root", _no_way_out),
    ("Trees cross storages", _across_mounts),
)


async def _refused(kind: type[MoorageError], attempt: Awaitable[object]) -> str:
    try:
        await attempt
    except kind as error:
        return str(error)
    raise StorageError(f"the demo expected {kind.__name__}, and nothing was refused")


def _expect(holds: bool) -> None:
    if not holds:
        raise StorageError("the demo saw something else than it says")
