"""A subtree as a root of its own: confined by itself, and made by the first change, not by looking."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage import (
    Filesystem,
    InvalidPathError,
    MoorageError,
    PathNotFoundError,
    Prefix,
    ReadOnly,
    StaleFileError,
    StoragePath,
)
from moorage_local import LocalFilesystem, LocalProvider

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("road")]


async def test_a_subtree_is_confined_by_itself(root: Path, fs: LocalFilesystem) -> None:
    await fs.write_bytes("/beside", b"secret")
    (root / "tenant").mkdir()
    (root / "tenant/up").symlink_to("../beside")
    below = LocalProvider(root).subtree(StoragePath("/tenant"))
    async with LocalFilesystem(root):
        await below.start()
        with pytest.raises(MoorageError):
            await below.read(StoragePath("/up"))
        await below.write(StoragePath("/mine"), b"x")
        with pytest.raises(PathNotFoundError):
            await below.read(StoragePath("/beside"))
        await below.aclose()
    assert (root / "tenant/mine").read_bytes() == b"x"


async def test_looking_into_a_missing_subtree_makes_nothing(root: Path) -> None:
    provider = LocalProvider(root)
    async with Filesystem(Prefix(ReadOnly(provider), "/new/dir")) as fs:
        assert await fs.list_dir("/") == []
        assert (await fs.stat("/")).is_dir
        assert not await fs.exists("/file")
        (root / "new/dir").mkdir(parents=True)
        (root / "new/dir/file").write_bytes(b"later")
        assert await fs.read_bytes("/file") == b"later"


async def test_a_missing_subtree_has_no_native_path_to_bind(root: Path) -> None:
    below = LocalProvider(root).subtree(StoragePath("/new"))
    await below.start()
    assert (await below.capabilities(StoragePath("/"))).native_path is None
    await below.make_dir(StoragePath("/dir"))
    assert (await below.capabilities(StoragePath("/"))).native_path == str(root / "new")
    await below.aclose()


async def test_refused_changes_of_a_missing_subtree_make_nothing(root: Path) -> None:
    async with Filesystem(Prefix(LocalProvider(root), "/new/dir")) as fs:
        for call in (
            fs.delete("/file"),
            fs.remove_dir("/below", recursive=True),
            fs.move("/file", "/other"),
            fs.copy("/file", "/other"),
            fs.write_bytes("/a/b", b"", create_parents=False),
            fs.make_dir("/a/b", parents=False),
        ):
            with pytest.raises(PathNotFoundError):
                await call
        for change in (fs.write_bytes, fs.append_bytes):
            with pytest.raises(StaleFileError):
                await change("/a", b"", expected_version="x")
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("operation", ["write", "append", "make_dir"])
async def test_the_first_change_makes_the_subtree_and_stays_in_it(root: Path, outside: Path, operation: str) -> None:
    async with Filesystem(Prefix(LocalProvider(root), "/new/dir")) as fs:
        before = await fs.provider.lineage(StoragePath("/"))
        if operation == "write":
            await fs.write_bytes("/file", b"x", create_parents=False)
        elif operation == "append":
            await fs.append_bytes("/file", b"x")
        else:
            await fs.make_dir("/file", parents=False)
        assert (root / "new/dir/file").exists()
        assert before[2:] == (await lineage_of(root))
        (root / "new/dir/out").symlink_to(outside)
        with pytest.raises(MoorageError):
            await fs.read_bytes("/out/file")


async def lineage_of(root: Path) -> tuple[str, ...]:
    async with LocalFilesystem(root) as fs:
        return await fs.provider.lineage(StoragePath("/"))


async def test_a_subtree_that_would_leave_is_refused(root: Path, outside: Path) -> None:
    (root / "out").symlink_to(outside)
    with pytest.raises(MoorageError):
        await Filesystem(Prefix(LocalProvider(root), "/out/new")).init()
    assert not (outside / "new").exists()


@pytest.mark.parametrize("prefix", ["/.moorage-tmp-abc", "/a/.moorage-tmp-abc/b"])
def test_no_subtree_has_a_reserved_name(root: Path, prefix: str) -> None:
    with pytest.raises(InvalidPathError):
        Prefix(LocalProvider(root), prefix)
