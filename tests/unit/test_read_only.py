"""Read-only has no way round: every public method of every public class is classified, and what changes is refused."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

import moorage
import moorage_local
from moorage import (
    BlockingFilesystem,
    CompositeFilesystem,
    Filesystem,
    Limits,
    MemoryFilesystem,
    MemoryProvider,
    MoorageError,
    ObjectStoreProvider,
    Prefix,
    Provider,
    ReadOnly,
    ReadOnlyError,
    StoragePath,
    Tracing,
)
from moorage.objects import MemoryObjectClient
from moorage_local import LocalFilesystem

CHANGING = {
    "Filesystem": {
        "append_bytes",
        "append_text",
        "copy",
        "delete",
        "make_dir",
        "move",
        "remove_dir",
        "write_bytes",
        "write_stream",
        "write_text",
    },
    "Provider": {*Provider.mutating, "sweep_leftovers"},
    "ObjectClient": {"append", "copy", "delete", "delete_many", "move", "put"},
}
"""What can change a store, by the class that first has it."""

HARMLESS = {
    "BlockingFilesystem": {"iterate", "using"},
    "CompositeFilesystem": {"resolve", "with_mount", "without_mount"},
    "Filesystem": {
        "aclose",
        "capabilities",
        "du",
        "exists",
        "glob",
        "info",
        "init",
        "instructions",
        "is_dir",
        "is_file",
        "list_dir",
        "open_read",
        "read_bytes",
        "read_text",
        "scan_dir",
        "stat",
        "walk",
    },
    "LeasingResolver": {"acquire", "release"},
    "MoorageError": {"with_context"},
    "MountRouter": {"bound", "mount_points"},
    "Glob": {"expanded_size", "matches"},
    "MountTable": {
        "below",
        "children",
        "get",
        "hidden",
        "is_mount",
        "is_protected",
        "is_shadowed",
        "is_virtual",
        "items",
        "replaced",
        "route",
        "unroute",
        "values",
        "virtual_below",
    },
    "ObjectClient": {"aclose", "get", "head", "list", "probe", "start"},
    "PluginLoader": {"function", "specs", "target"},
    "Provider": {"aclose", "capabilities", "lineage", "list", "read", "start", "stat", "subtree"},
    "ProviderOptions": {"build", "from_url"},
    "Reader": {"aclose", "read"},
    "Registry": {"command", "options"},
    "RequestContext": {"get", "segment"},
    "StoragePath": {"child", "is_below", "is_within", "parse", "rebased"},
    "TenantCache": {"aclose", "acquire", "release"},
    "TreeFilesystem": {"mounts"},
}
"""What cannot."""

Call = Callable[[Filesystem, str], Awaitable[object]]


async def chunks() -> AsyncIterator[bytes]:
    yield b"new"


CALLS: dict[str, tuple[Call, ...]] = {
    "append_bytes": (lambda fs, path: fs.append_bytes(path, b"new"),),
    "append_text": (lambda fs, path: fs.append_text(path, "new"),),
    "copy": (
        lambda fs, path: fs.copy("/m/source", path),
        lambda fs, path: fs.copy("/m/tree", path, recursive=True),
        lambda fs, path: fs.copy("/m/source", path, expected_version="made up"),
    ),
    "delete": (lambda fs, path: fs.delete(path), lambda fs, path: fs.delete(path, missing_ok=True)),
    "make_dir": (lambda fs, path: fs.make_dir(path), lambda fs, path: fs.make_dir(path, exist_ok=False)),
    "move": (
        lambda fs, path: fs.move("/m/source", path),
        lambda fs, path: fs.move("/m/tree", path),
        lambda fs, path: fs.move(path, "/m/elsewhere"),
    ),
    "remove_dir": (
        lambda fs, path: fs.remove_dir(path),
        lambda fs, path: fs.remove_dir(path, recursive=True, missing_ok=True),
    ),
    "write_bytes": (
        lambda fs, path: fs.write_bytes(path, b"new"),
        lambda fs, path: fs.write_bytes(path, b"new", overwrite=False, create_parents=False),
        lambda fs, path: fs.write_bytes(path, b"new", expected_version="made up"),
    ),
    "write_stream": (lambda fs, path: fs.write_stream(path, chunks()),),
    "write_text": (lambda fs, path: fs.write_text(path, "new"),),
}

PATHS = ("/m/dir/file", "/m/dir", "/m/new", "/m/new/below", "/m/dir/file/below", "/m", "/m/source", "/m/tree")

FILES = {"/m/dir/file": b"kept", "/m/source": b"source", "/m/tree/file": b"of a tree"}


def first_definer(owner: type, name: str) -> str | None:
    """The class of ours, furthest up, that has this method; ``None`` for what is not a method of ours."""
    raw = inspect.getattr_static(owner, name)
    if name.startswith("_") or not (inspect.isfunction(raw) or isinstance(raw, classmethod | staticmethod)):
        return None
    ours = [each.__name__ for each in owner.__mro__ if name in vars(each) and each.__module__.startswith("moorage")]
    return ours[-1] if ours else None


def public_methods() -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for package in (moorage, moorage_local):
        for value in (getattr(package, name) for name in package.__all__):
            if inspect.isclass(value):
                found |= {(owner, name) for name in dir(value) if (owner := first_definer(value, name)) is not None}
    return found


async def contents(provider: Provider) -> dict[str, bytes | None]:
    held: dict[str, bytes | None] = {}
    async for entry in provider.list(StoragePath("/"), recursive=True):
        assert entry.path is not None
        held[str(entry.path)] = None
        if entry.is_file:
            async with await provider.read(entry.path) as reader:
                held[str(entry.path)] = await reader.read()
    return held


async def filled(provider: Provider) -> Provider:
    for path, data in FILES.items():
        await provider.write(StoragePath(path), data)
    return provider


def test_every_public_method_is_classified() -> None:
    known = {(owner, name) for table in (CHANGING, HARMLESS) for owner, names in table.items() for name in names}
    assert public_methods() - known == set(), "decide whether these can change a store, and say so above"
    assert known - public_methods() == set(), "these are gone"


def test_no_method_is_classified_twice() -> None:
    for owner, names in CHANGING.items():
        assert names & HARMLESS.get(owner, set()) == set()


def test_every_changing_method_of_a_filesystem_is_called_below() -> None:
    assert set(CALLS) == CHANGING["Filesystem"]


@pytest.mark.anyio
async def test_leftovers_are_not_swept_where_nothing_may_change() -> None:
    with pytest.raises(ReadOnlyError):
        await ReadOnly(MemoryProvider()).sweep_leftovers(0)
    tree = CompositeFilesystem({"/m": ReadOnly(MemoryProvider()), "/n": MemoryProvider()})
    async with tree:
        assert await tree.provider.sweep_leftovers(0) == 0


LAYERS: dict[str, Callable[[Provider], Filesystem]] = {
    "bare": Filesystem,
    "prefix": lambda shut: CompositeFilesystem({"/m": Prefix(Prefix(shut, "/"), "/m")}),
    "limits": lambda shut: Filesystem(Limits(shut, max_file_size=1 << 20)),
    "tracing": lambda shut: Filesystem(Tracing(shut)),
    "twice": lambda shut: Filesystem(ReadOnly(shut)),
    "mounted": lambda shut: CompositeFilesystem({"/m": Prefix(shut, "/m")}),
    "in a tree in a tree": lambda shut: CompositeFilesystem(
        {"/": CompositeFilesystem({"/m": Prefix(shut, "/m"), "/n": MemoryProvider()})}
    ),
}


@pytest.mark.anyio
@pytest.mark.parametrize("layers", LAYERS)
async def test_every_changing_method_is_refused_and_nothing_changes(layers: str) -> None:
    inner = await filled(MemoryProvider())
    async with LAYERS[layers](ReadOnly(inner)) as fs:
        before = await contents(inner)
        for calls in CALLS.values():
            for call in calls:
                for path in PATHS:
                    with pytest.raises(ReadOnlyError) as caught:
                        await call(fs, path)
                    assert caught.value.code == "read_only"
        assert await contents(inner) == before


@pytest.mark.anyio
@pytest.mark.parametrize("layers", LAYERS)
async def test_what_has_nothing_to_do_may_say_so_but_changes_nothing(layers: str) -> None:
    inner = await filled(MemoryProvider())
    async with LAYERS[layers](ReadOnly(inner)) as fs:
        before = await contents(inner)
        for calls in CALLS.values():
            for call in calls:
                for path in ("/m", "/", "/m/source", "/m/tree"):
                    with suppress(MoorageError):
                        await call(fs, path)
        assert await contents(inner) == before


@pytest.mark.anyio
async def test_no_request_that_changes_something_reaches_an_object_store() -> None:
    client = MemoryObjectClient()
    shut = ReadOnly(await filled(ObjectStoreProvider(client)))
    asked: list[str] = []
    for name in CHANGING["ObjectClient"]:
        setattr(client, name, lambda *_, name=name: asked.append(name))
    async with Filesystem(shut) as fs:
        for calls in CALLS.values():
            for call in calls:
                for path in PATHS:
                    with pytest.raises(ReadOnlyError):
                        await call(fs, path)
    assert asked == []


@pytest.mark.anyio
async def test_a_writable_mount_beside_does_not_open_the_other() -> None:
    inner = await filled(MemoryProvider())
    tree = CompositeFilesystem({"/m": Prefix(ReadOnly(inner), "/m"), "/n": MemoryProvider()})
    async with tree:
        await tree.write_bytes("/n/file", b"fine")
        for call in (
            tree.copy("/n/file", "/m/new"),
            tree.move("/n/file", "/m/new"),
            tree.copy("/n", "/m/new", recursive=True),
            tree.move("/m/dir/file", "/n/taken"),
            tree.move("/m/dir", "/n/taken"),
        ):
            with pytest.raises(ReadOnlyError):
                await call
        assert set(await contents(inner)) == {"/m", "/m/dir", "/m/tree", *FILES}
        assert [entry.name for entry in await tree.list_dir("/n")] == ["file"]
        await tree.copy("/m/dir/file", "/n/copied")
        assert await tree.read_bytes("/n/copied") == b"kept"


@pytest.mark.anyio
async def test_read_only_filesystems_of_every_kind_refuse(tmp_path: Path) -> None:
    for path, data in FILES.items():
        file = tmp_path / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    before = {found: found.stat().st_mtime_ns for found in tmp_path.rglob("*")}
    for filesystem in (LocalFilesystem(tmp_path, read_only=True), MemoryFilesystem(read_only=True)):
        async with filesystem as fs:
            assert not (await fs.capabilities("/")).writable
            assert (await fs.capabilities("/")).native_path is None
            for calls in CALLS.values():
                for call in calls:
                    for path in PATHS:
                        with pytest.raises(ReadOnlyError):
                            await call(fs, path)
    assert {found: found.stat().st_mtime_ns for found in tmp_path.rglob("*")} == before


def test_the_blocking_face_refuses_the_same() -> None:
    fs = MemoryFilesystem(read_only=True)
    with BlockingFilesystem(fs) as call:
        for calls in CALLS.values():
            for each in calls:
                for path in PATHS:
                    with pytest.raises(ReadOnlyError):
                        call(each, fs, path)
        assert call(fs.list_dir, "/") == []
