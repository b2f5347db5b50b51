"""Read-only has no way round."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from moorage import Filesystem, Provider, ReadOnly, ReadOnlyError, StoragePath
from moorage.testing.bodies import Chunks
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused
from moorage.testing.suite.calls import mutating_calls

PATHS = ("/dir/file", "/dir", "/new", "/new/below", "/dir/file/below", "/")

Primitive = Callable[[Provider, StoragePath], Awaitable[object]]

OTHER = StoragePath("/dir/other")

PRIMITIVES: dict[str, tuple[Primitive, ...]] = {
    "write": (lambda p, path: p.write(path, b"x"), lambda p, path: p.write(path, Chunks([b"x"]))),
    "append": (lambda p, path: p.append(path, b"x"), lambda p, path: p.append(path, Chunks([b"x"]))),
    "delete": (lambda p, path: p.delete(path),),
    "copy": (lambda p, path: p.copy(OTHER, path), lambda p, path: p.copy(path, OTHER)),
    "move": (lambda p, path: p.move(OTHER, path), lambda p, path: p.move(path, OTHER)),
    "make_dir": (lambda p, path: p.make_dir(path),),
    "remove_dir": (
        lambda p, path: p.remove_dir(path),
        lambda p, path: p.remove_dir(path, recursive=True),
    ),
}


class ReadOnlyRefusals(Harness):
    """Needs the fixture ``closed_to_writing``, a read-only provider that holds ``/dir/file`` and ``/dir/other``."""

    @pytest.fixture
    async def closed_to_writing(self, opened: Provider) -> Provider:
        """The provider under test, made read-only after it was filled."""
        await self._fill_for_reading()
        return ReadOnly(opened)

    @pytest.fixture
    async def shut(self, closed_to_writing: Provider) -> AsyncIterator[Filesystem]:
        """A filesystem over it, open."""
        async with Filesystem(closed_to_writing) as fs:
            yield fs

    async def test_it_says_so_and_shows_no_host_path(self, closed_to_writing: Provider) -> None:
        for path in PATHS:
            can = await closed_to_writing.capabilities(StoragePath(path))
            assert (can.writable, can.native_path) == (False, None)

    async def test_every_mutating_primitive_is_refused(self, closed_to_writing: Provider) -> None:
        assert set(PRIMITIVES) == set(closed_to_writing.mutating)
        for primitive in sorted(closed_to_writing.mutating):
            for call in PRIMITIVES[primitive]:
                for path in PATHS:
                    with refused(ReadOnlyError):
                        await call(closed_to_writing, StoragePath(path))
        await self._nothing_changed()

    async def test_every_mutating_method_is_refused_whatever_else_is_wrong(self, shut: Filesystem) -> None:
        for path in PATHS:
            for name, call in mutating_calls(shut, path).items():
                with pytest.raises(ReadOnlyError):
                    await call()
                assert name
        await self._nothing_changed()

    async def test_reading_goes_on(self, shut: Filesystem) -> None:
        assert await shut.read_bytes("/dir/file") == b"kept"
        assert [entry.name for entry in await shut.list_dir("/dir")] == ["file", "other"]
        assert (await shut.stat("/dir/other")).size == 5

    async def _fill_for_reading(self) -> None:
        await self.poke(StoragePath("/dir/file"), b"kept")
        await self.poke(StoragePath("/dir/other"), b"other")

    async def _nothing_changed(self) -> None:
        assert await self.content() == {"/dir/file": b"kept", "/dir/other": b"other"}
