"""Every refusal of the operation table: its exact class, its code, and the path as the caller wrote it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from moorage import (
    BusyError,
    CompositeFilesystem,
    DirectoryNotEmptyError,
    EncodingError,
    Filesystem,
    InvalidArgumentError,
    InvalidPathError,
    MemoryFilesystem,
    MoorageError,
    NoMountError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    ReadOnly,
    ReadOnlyError,
    StaleFileError,
)
from moorage.objects import MemoryObjectClient, ObjectStoreProvider
from moorage_local import LocalFilesystem

pytestmark = pytest.mark.anyio

OLD = datetime(2001, 1, 1, tzinfo=UTC)
BAD = ["a/../b", "/..", "a\x00b", "a\nb", "\x7f", "a\x1b[31m", "\ud800"]

Call = Callable[[Filesystem], Awaitable[object]]
Row = tuple[str, Call, type[MoorageError], str, str | None]

ROWS: list[Row] = [
    ("read a missing file", lambda fs: fs.read_bytes("no//file"), PathNotFoundError, "not_found", "no//file"),
    ("read below a file", lambda fs: fs.read_bytes("./d/f/x"), PathNotFoundError, "not_found", "./d/f/x"),
    ("read a directory", lambda fs: fs.read_bytes("/d/"), PathIsDirectoryError, "is_directory", "/d/"),
    ("read text of a directory", lambda fs: fs.read_text("d"), PathIsDirectoryError, "is_directory", "d"),
    ("read a negative range", lambda fs: fs.read_bytes("d/f", -1), InvalidArgumentError, "invalid_argument", "d/f"),
    ("read bytes that are no text", lambda fs: fs.read_text("d/latin"), EncodingError, "encoding", "d/latin"),
    (
        "write text that is no latin-1",
        lambda fs: fs.write_text("x", "€", encoding="latin-1"),
        EncodingError,
        "encoding",
        "x",
    ),
    ("stat what is missing", lambda fs: fs.stat("nope/"), PathNotFoundError, "not_found", "nope/"),
    ("write over a directory", lambda fs: fs.write_bytes("d/", b""), PathIsDirectoryError, "is_directory", "d/"),
    ("write the root", lambda fs: fs.write_bytes(".", b""), PathIsDirectoryError, "is_directory", "."),
    ("create what exists", lambda fs: fs.write_bytes("d//f", b"", overwrite=False), PathExistsError, "exists", "d//f"),
    ("write below a file", lambda fs: fs.write_bytes("d/f/x", b""), PathNotDirectoryError, "not_directory", "/d/f"),
    (
        "write without its parent",
        lambda fs: fs.write_bytes("no/dir/x", b"", create_parents=False),
        PathNotFoundError,
        "not_found",
        "/no/dir",
    ),
    (
        "write with a stale version",
        lambda fs: fs.write_bytes("./d/f", b"", expected_version="other"),
        StaleFileError,
        "stale",
        "./d/f",
    ),
    (
        "write with a stale time",
        lambda fs: fs.write_bytes("./d/f", b"", expected_mtime=OLD),
        StaleFileError,
        "stale",
        "./d/f",
    ),
    (
        "write with an expectation of what is gone",
        lambda fs: fs.write_bytes("./gone", b"", expected_version="other"),
        StaleFileError,
        "stale",
        "./gone",
    ),
    (
        "write what must have had a time but is gone",
        lambda fs: fs.write_bytes("./gone", b"", expected_mtime=OLD),
        StaleFileError,
        "stale",
        "./gone",
    ),
    (
        "expect no time",
        lambda fs: fs.write_bytes("d/f", b"", expected_mtime=None),  # type: ignore[arg-type]
        InvalidArgumentError,
        "invalid_argument",
        "d/f",
    ),
    (
        "expect no version",
        lambda fs: fs.delete("d/f", expected_version=None),  # type: ignore[arg-type]
        InvalidArgumentError,
        "invalid_argument",
        "d/f",
    ),
    (
        "expect a time of no time zone",
        lambda fs: fs.write_bytes("d/f", b"", expected_mtime=datetime(2001, 1, 1)),  # noqa: DTZ001
        InvalidArgumentError,
        "invalid_argument",
        "d/f",
    ),
    ("append to a directory", lambda fs: fs.append_bytes("d", b""), PathIsDirectoryError, "is_directory", "d"),
    (
        "append with a stale version",
        lambda fs: fs.append_bytes("d/f", b"", expected_version="other"),
        StaleFileError,
        "stale",
        "d/f",
    ),
    ("delete a directory", lambda fs: fs.delete("d/"), PathIsDirectoryError, "is_directory", "d/"),
    ("delete the root", lambda fs: fs.delete("/"), PathIsDirectoryError, "is_directory", "/"),
    ("delete what is missing", lambda fs: fs.delete("no//file"), PathNotFoundError, "not_found", "no//file"),
    (
        "delete with a stale version",
        lambda fs: fs.delete("d//f", expected_version="other"),
        StaleFileError,
        "stale",
        "d//f",
    ),
    ("remove what is not empty", lambda fs: fs.remove_dir("d/"), DirectoryNotEmptyError, "not_empty", "d/"),
    ("remove a file as a directory", lambda fs: fs.remove_dir("d//f"), PathNotDirectoryError, "not_directory", "d//f"),
    ("remove a missing directory", lambda fs: fs.remove_dir("no"), PathNotFoundError, "not_found", "no"),
    ("remove the root", lambda fs: fs.remove_dir("/", recursive=True), BusyError, "busy", "/"),
    ("move the root", lambda fs: fs.move("/", "/x"), BusyError, "busy", "/"),
    ("move onto the root", lambda fs: fs.move("/d/f", "/"), BusyError, "busy", "/"),
    ("make a directory over a file", lambda fs: fs.make_dir("d//f"), PathExistsError, "exists", "d//f"),
    ("make what exists", lambda fs: fs.make_dir("d/", exist_ok=False), PathExistsError, "exists", "d/"),
    ("make without its parent", lambda fs: fs.make_dir("no/x", parents=False), PathNotFoundError, "not_found", "/no"),
    ("make below a file", lambda fs: fs.make_dir("d/f/x"), PathNotDirectoryError, "not_directory", "/d/f"),
    ("copy a directory", lambda fs: fs.copy("d/", "e"), PathIsDirectoryError, "is_directory", "d/"),
    ("copy onto a directory", lambda fs: fs.copy("d/f", "./d"), PathIsDirectoryError, "is_directory", "./d"),
    ("copy what is missing", lambda fs: fs.copy("no//file", "e"), PathNotFoundError, "not_found", "no//file"),
    (
        "copy into itself",
        lambda fs: fs.copy("d", "d//x", recursive=True),
        InvalidArgumentError,
        "invalid_argument",
        "d//x",
    ),
    (
        "copy over what exists",
        lambda fs: fs.copy("d/f", "d//latin", overwrite=False),
        PathExistsError,
        "exists",
        "d//latin",
    ),
    (
        "copy a tree over a file",
        lambda fs: fs.copy("e", "d//f", recursive=True),
        PathNotDirectoryError,
        "not_directory",
        "d//f",
    ),
    (
        "copy with a stale version",
        lambda fs: fs.copy("d/f", "d//latin", expected_version="other"),
        StaleFileError,
        "stale",
        "d//latin",
    ),
    ("move into itself", lambda fs: fs.move("d", "d//x"), InvalidArgumentError, "invalid_argument", "d//x"),
    (
        "move over what exists",
        lambda fs: fs.move("d/f", "d//latin", overwrite=False),
        PathExistsError,
        "exists",
        "d//latin",
    ),
    ("move what is missing", lambda fs: fs.move("no//file", "e"), PathNotFoundError, "not_found", "no//file"),
    ("move onto a directory", lambda fs: fs.move("d/f", "./d"), PathIsDirectoryError, "is_directory", "./d"),
    ("list what is missing", lambda fs: fs.list_dir("no//dir"), PathNotFoundError, "not_found", "no//dir"),
    ("list a file", lambda fs: fs.list_dir("d//f"), PathNotDirectoryError, "not_directory", "d//f"),
    ("list no levels", lambda fs: fs.list_dir("d", max_depth=0), InvalidArgumentError, "invalid_argument", "d"),
    ("measure what is missing", lambda fs: fs.du("no//dir"), PathNotFoundError, "not_found", "no//dir"),
    *[
        (f"{name} {bad!r}", lambda fs, bad=bad, call=call: call(fs, bad), InvalidPathError, "invalid_path", bad)
        for bad in BAD
        for name, call in {
            "read": lambda fs, bad: fs.read_bytes(bad),
            "write": lambda fs, bad: fs.write_bytes(bad, b""),
            "move to": lambda fs, bad: fs.move("d/f", bad),
            "list": lambda fs, bad: fs.list_dir(bad),
        }.items()
    ],
]


@asynccontextmanager
async def filesystem(kind: str, directory: Path) -> AsyncIterator[Filesystem]:
    match kind:
        case "memory":
            fs: Filesystem = MemoryFilesystem()
        case "local":
            fs = LocalFilesystem(directory)
        case "objects":
            fs = Filesystem(ObjectStoreProvider(MemoryObjectClient()))
        case _:
            fs = CompositeFilesystem({"/": MemoryFilesystem(), "/other/mount": MemoryFilesystem()}, nested=True)
    async with fs:
        await fs.write_bytes("d/f", b"content")
        await fs.write_bytes("d/latin", b"\xff\xfe\xfa")
        await fs.make_dir("e")
        yield fs


@pytest.mark.parametrize("kind", ["memory", "local", "objects", "composite"])
async def test_each_refusal(kind: str, tmp_path: Path) -> None:
    async with filesystem(kind, tmp_path / "base") as fs:
        before = [(entry.path, entry.stat.version) async for entry in fs.scan_dir(recursive=True) if entry.is_file]
        for title, call, error_class, code, path in ROWS:
            with pytest.raises(MoorageError) as raised:
                await call(fs)
            error = raised.value
            assert (title, type(error), error.code, error.path) == (title, error_class, code, path)
            assert error.operation, title
            assert error.provider, title
            assert str(tmp_path) not in f"{error} {error!r} {error.__cause__}", title
        after = [(entry.path, entry.stat.version) async for entry in fs.scan_dir(recursive=True) if entry.is_file]
        assert after == before, "a refused call changed something"


@pytest.mark.parametrize("kind", ["memory", "local", "objects"])
async def test_read_only_is_said_before_anything_but_the_path(kind: str, tmp_path: Path) -> None:
    mutating = {
        "write", "create", "append", "delete", "remove", "make", "copy", "move", "expect",
    }  # fmt: skip
    async with filesystem(kind, tmp_path / "base") as inner, Filesystem(ReadOnly(inner.provider)) as fs:
        for title, call, error_class, _, path in ROWS:
            if title.split()[0] not in mutating or error_class in (InvalidPathError, EncodingError):
                continue
            with pytest.raises(MoorageError) as raised:
                await call(fs)
            assert (title, type(raised.value)) == (title, ReadOnlyError), path


async def test_outside_every_mount() -> None:
    tree = CompositeFilesystem({"/a": MemoryFilesystem(), "/b/c": MemoryFilesystem(), "/ro": MemoryFilesystem(True)})
    async with tree:
        await tree.write_bytes("/a/f", b"")
        for call in (
            lambda: tree.write_bytes("/x//y", b""),
            lambda: tree.read_bytes("/x//y"),
            lambda: tree.append_bytes("/x//y", b""),
            lambda: tree.make_dir("/x//y"),
            lambda: tree.copy("/a/f", "/x//y"),
            lambda: tree.move("/a/f", "/x//y"),
            lambda: tree.delete("/x//y"),
            lambda: tree.list_dir("/x//y"),
        ):
            with pytest.raises(NoMountError) as raised:
                await call()
            assert raised.value.path == "/x//y"
            assert isinstance(raised.value, FileNotFoundError)
            assert "/a, /b/c" in str(raised.value)
        for path in ("/a", "/b", "/b/c", "/"):
            for busy in (tree.remove_dir(path), tree.remove_dir(path, recursive=True), tree.move(path, "/a/x")):
                with pytest.raises(BusyError):
                    await busy
        for path in ("/a", "/b", "/b/c"):
            with pytest.raises(BusyError):
                await tree.move("/a/f", path)
        with pytest.raises(ReadOnlyError):
            await tree.remove_dir("/ro", recursive=True)
        with pytest.raises(ReadOnlyError):
            await tree.move("/ro/x", "/a/x")
        with pytest.raises(ReadOnlyError):
            await tree.copy("/a/f", "/ro/x")
        assert await tree.exists("/a/f")
        assert not await tree.exists("/x//y")
