"""Routing and virtual directories against a model of plain dicts: results, and the class and path of every error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage import (
    BusyError,
    CompositeFilesystem,
    ConfigError,
    DirectoryNotEmptyError,
    MemoryFilesystem,
    MoorageError,
    MountTable,
    NoMountError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    StoragePath,
)

Parts = tuple[str, ...]

names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=0, max_size=4).map(tuple)
mount_sets = st.sets(st.lists(names, min_size=0, max_size=3).map(tuple), min_size=1, max_size=4)


def text(parts: Parts) -> str:
    return "/" + "/".join(parts)


class RefusalError(Exception):
    def __init__(self, kind: type[MoorageError], path: Parts) -> None:
        super().__init__(kind, path)
        self.kind = kind
        self.path = path


@dataclass
class Model:
    """What each mount holds, by absolute path."""

    mounts: set[Parts]
    files: dict[Parts, dict[Parts, bytes]] = field(default_factory=dict)
    directories: dict[Parts, set[Parts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for mount in self.mounts:
            self.files[mount] = {}
            self.directories[mount] = {mount}

    def route(self, path: Parts) -> Parts | None:
        found = [mount for mount in self.mounts if path[: len(mount)] == mount]
        return max(found, key=len, default=None)

    def protected(self, path: Parts) -> bool:
        return any(mount[: len(path)] == path for mount in self.mounts)

    def need(self, path: Parts) -> Parts:
        mount = self.route(path)
        if mount is None:
            raise RefusalError(NoMountError, path)
        return mount

    def kind(self, path: Parts) -> str:
        mount = self.route(path)
        if self.protected(path) or (mount is not None and path in self.directories[mount]):
            return "directory"
        if mount is not None and path in self.files[mount]:
            return "file"
        raise RefusalError(NoMountError if mount is None else PathNotFoundError, path)

    def file(self, path: Parts) -> bytes:
        if self.protected(path):
            raise RefusalError(PathIsDirectoryError, path)
        mount = self.need(path)
        if self.kind(path) == "directory":
            raise RefusalError(PathIsDirectoryError, path)
        return self.files[mount][path]

    def make_parents(self, mount: Parts, path: Parts) -> None:
        above = [path[:length] for length in range(len(path) - 1, len(mount), -1)]
        for parent in above:
            if parent in self.files[mount]:
                raise RefusalError(PathNotDirectoryError, parent)
        self.directories[mount].update(above)

    def write(self, path: Parts, data: bytes) -> None:
        if self.protected(path):
            raise RefusalError(PathIsDirectoryError, path)
        mount = self.need(path)
        if path in self.directories[mount]:
            raise RefusalError(PathIsDirectoryError, path)
        self.make_parents(mount, path)
        self.files[mount][path] = data

    def place(self, mount: Parts, path: Parts, data: bytes) -> None:
        """Put a file into a mount, whether or not the tree shows it."""
        self.make_parents(mount, path)
        self.files[mount][path] = data

    def delete(self, path: Parts) -> None:
        self.file(path)
        del self.files[self.need(path)][path]

    def make_dir(self, path: Parts) -> None:
        if self.protected(path):
            return
        mount = self.need(path)
        if path in self.files[mount]:
            raise RefusalError(PathExistsError, path)
        self.make_parents(mount, path)
        self.directories[mount].add(path)

    def remove_dir(self, path: Parts, recursive: bool) -> None:
        if self.protected(path) or not path:
            raise RefusalError(BusyError, path)
        mount = self.need(path)
        if self.kind(path) == "file":
            raise RefusalError(PathNotDirectoryError, path)
        below = {p for p in {*self.files[mount], *self.directories[mount]} if p[: len(path)] == path and p != path}
        if below and not recursive:
            raise RefusalError(DirectoryNotEmptyError, path)
        for gone in below | {path}:
            self.files[mount].pop(gone, None)
            self.directories[mount].discard(gone)

    def copy(self, src: Parts, dst: Parts) -> None:
        if src == dst:
            if self.kind(src) == "directory":
                raise RefusalError(PathIsDirectoryError, src)
            return
        for path in (src, dst):
            if not path or self.protected(path):
                raise RefusalError(PathIsDirectoryError, path)
            if path == src:
                self.need(src)
        self.need(dst)
        self.write(dst, self.file(src))

    def move(self, src: Parts, dst: Parts) -> None:
        for path in (src, dst):
            if not path:
                raise RefusalError(BusyError, path)
        if src == dst:
            self.kind(src)
            return
        for path in (src, dst):
            if self.protected(path):
                raise RefusalError(BusyError, path)
        self.need(src)
        self.need(dst)
        data = self.file(src)
        self.write(dst, data)
        del self.files[self.need(src)][src]

    def listing(self, path: Parts, recursive: bool) -> set[tuple[str, str]]:
        if self.kind(path) == "file":
            raise RefusalError(PathNotDirectoryError, path)
        every = {mount[:length] for mount in self.mounts for length in range(1, len(mount) + 1)}
        for mount in self.mounts:
            every |= {p for p in {*self.files[mount], *self.directories[mount]} if self.route(p) == mount}
        below = {p for p in every if p[: len(path)] == path and p != path and p}
        return {(text(p), self.kind(p)) for p in below if recursive or len(p) == len(path) + 1}


async def outcome(call: Awaitable[object]) -> object:
    try:
        result = await call
    except MoorageError as error:
        return type(error), error.path
    return result if isinstance(result, bytes | set | str) else "done"


def expected(call: Callable[[], object]) -> object:
    try:
        result = call()
    except RefusalError as refused:
        return refused.kind, text(refused.path)
    return result if isinstance(result, bytes | set | str) else "done"


steps = st.one_of(
    st.tuples(st.just("write"), paths, st.binary(max_size=3)),
    st.tuples(st.just("read"), paths),
    st.tuples(st.just("delete"), paths),
    st.tuples(st.just("stat"), paths),
    st.tuples(st.just("make_dir"), paths),
    st.tuples(st.just("remove_dir"), paths, st.booleans()),
    st.tuples(st.just("list"), paths, st.booleans()),
    st.tuples(st.just("copy"), paths, paths),
    st.tuples(st.just("move"), paths, paths),
)


async def replay(  # noqa: C901 (a step of each kind)
    mounts: set[Parts], present: list[Parts], script: list[tuple[object, ...]]
) -> None:
    """``present`` is written into every mount before it is mounted, so that inner mounts have something to shadow."""
    model = Model(mounts)
    filesystems = {text(mount): MemoryFilesystem() for mount in mounts}
    for mount in mounts:
        for below in present:
            with suppress(MoorageError, RefusalError):
                await filesystems[text(mount)].write_bytes(text(below), b"present")
                model.place(mount, mount + below, b"present")
    async with CompositeFilesystem(filesystems, nested=True) as tree:

        async def listed(path: str, recursive: bool) -> set[tuple[str, str]]:
            return {(str(entry.path), str(entry.kind)) for entry in await tree.list_dir(path, recursive=recursive)}

        async def kind(path: str) -> str:
            return str((await tree.stat(path)).kind)

        for step in script:
            match step:
                case ("write", tuple() as p, bytes() as data):
                    got = await outcome(tree.write_bytes(text(p), data))
                    want = expected(partial(model.write, p, data))
                case ("read", tuple() as p):
                    got = await outcome(tree.read_bytes(text(p)))
                    want = expected(partial(model.file, p))
                case ("delete", tuple() as p):
                    got = await outcome(tree.delete(text(p)))
                    want = expected(partial(model.delete, p))
                case ("stat", tuple() as p):
                    got = await outcome(kind(text(p)))
                    want = expected(partial(model.kind, p))
                case ("make_dir", tuple() as p):
                    got = await outcome(tree.make_dir(text(p)))
                    want = expected(partial(model.make_dir, p))
                case ("remove_dir", tuple() as p, bool() as recursive):
                    got = await outcome(tree.remove_dir(text(p), recursive=recursive))
                    want = expected(partial(model.remove_dir, p, recursive))
                case ("list", tuple() as p, bool() as recursive):
                    got = await outcome(listed(text(p), recursive))
                    want = expected(partial(model.listing, p, recursive))
                case ("copy" | "move" as name, tuple() as a, tuple() as b):
                    if is_tree(model, a) or a == b[: len(a)] or b == a[: len(b)]:
                        continue  # trees have tests of their own
                    got = await outcome(tree.copy(text(a), text(b)) if name == "copy" else tree.move(text(a), text(b)))
                    want = expected(partial(model.copy if name == "copy" else model.move, a, b))
                case _:
                    raise AssertionError(step)
            assert got == want, (mounts, step)
        assert await listed("/", True) == model.listing((), True)


def is_tree(model: Model, path: Parts) -> bool:
    try:
        return model.kind(path) == "directory"
    except RefusalError:
        return False


@settings(max_examples=250, deadline=None)
@given(mount_sets, st.lists(paths, max_size=3), st.lists(steps, max_size=14))
def test_a_tree_of_mounts_is_the_dict_it_looks_like(
    mounts: set[Parts], present: list[Parts], script: list[tuple[object, ...]]
) -> None:
    anyio.run(replay, mounts, present, script)


@given(mount_sets, paths)
def test_unroute_is_the_inverse_of_route(mounts: set[Parts], path: Parts) -> None:
    table = MountTable({text(mount): text(mount) for mount in mounts}, nested=True)
    found = table.route(StoragePath(text(path)))
    want = Model(mounts).route(path)
    if want is None:
        assert found is None
        return
    assert found is not None
    mount, mounted, inner = found
    assert (str(mount), mounted) == (text(want), text(want))
    assert table.unroute(mount, inner) == StoragePath(text(path))


@given(mount_sets)
def test_overlap_is_refused_unless_nested_whatever_the_order(mounts: set[Parts]) -> None:
    overlap = any(a != b and b[: len(a)] == a for a in mounts for b in mounts)
    for order in (sorted(mounts), sorted(mounts, reverse=True)):
        table = {text(mount): 0 for mount in order}
        if not overlap:
            MountTable(table)
            continue
        with pytest.raises(ConfigError) as raised:
            MountTable(table)
        assert sum(text(mount) in str(raised.value) for mount in mounts) >= 2


def test_whole_segments_only() -> None:
    table = MountTable({"/data": 1})
    assert table.route(StoragePath("/database")) is None
    assert table.route(StoragePath("/data/base")) == (StoragePath("/data"), 1, StoragePath("/base"))


@pytest.mark.parametrize("pair", [("/a", "a"), ("/a", "/a/"), ("a//b", "/a/./b")])
def test_the_same_mount_twice_is_refused(pair: tuple[str, str]) -> None:
    for first, second in (pair, pair[::-1]):
        with pytest.raises(ConfigError, match="two mounts"):
            CompositeFilesystem({first: MemoryFilesystem(), second: MemoryFilesystem()})


def test_no_mounts_is_refused() -> None:
    with pytest.raises(ConfigError, match="no mounts"):
        CompositeFilesystem({})
