"""What every part of the conformance suite stands on: the fixtures, the hooks an author gives, and the sizes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar

import pytest

from moorage import Capabilities, Filesystem, Kind, PathNotFoundError, Provider, StoragePath
from moorage.testing.iterating import collect


class Harness:
    """Subclass :class:`moorage.testing.ProviderConformance`, not this.

    An author gives the fixture ``provider``: an empty store for each test, started or not, from a plain or an async
    fixture. The hooks ``peek``, ``poke``, ``link`` and ``leftovers`` go past the provider, so that its reader and
    its writer cannot agree on the same mistake; the first two fall back on the provider itself. Fixtures and hooks
    run on one instance of the class, so a fixture may keep on ``self`` what the hooks need.

    The sizes below are class attributes, to be overridden where a store needs more or can bear less.
    """

    pytestmark = pytest.mark.anyio

    keys: ClassVar[int] = 2_500
    """How many files the large listing has."""
    fan_out: ClassVar[int] = 32
    """How many calls run at once while many files are written."""
    writers: ClassVar[int] = 20
    """How many tasks race."""
    rounds: ClassVar[int] = 3
    """How often a race is run; fifty times with ``--slow``."""
    larger: ClassVar[int] = 1 << 18
    """Bytes of the body that should reach the store in another way than a small one, e.g. in parts."""
    stream_blocks: ClassVar[int] = 64
    """MiB of the file that must pass through in bounded memory."""
    memory_bound: ClassVar[int] = 48 << 20
    """Bytes of Python memory that such a file may take on its way."""
    keeps_content_in_process: ClassVar[bool] = False
    """Declared by stores whose content lives in this process, where that bound cannot hold."""
    cancellation_points: ClassVar[int] = 24
    """How many awaits of one operation are cancelled; all of them with ``--slow``."""
    settling: ClassVar[float] = 2.0
    """Seconds that a worker which had already begun may take to end, after its operation was cancelled."""
    examples: ClassVar[int] = 25
    """Runs of the state machine; twenty times as many with ``--slow``."""
    steps: ClassVar[int] = 25
    """Operations in each of them."""

    shrinks: ClassVar[bool] = True
    """Whether a failing run of the state machine is made shorter; that takes hundreds of runs."""
    reported_as: ClassVar[str | None] = None
    """The scheme that errors carry, where it is not the provider's own (in a tree, it is the mount's)."""

    _provider: Provider

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop; override with ``params`` to run on several."""
        return "asyncio"

    @pytest.fixture
    def provider(self) -> Provider:
        """The store under test, empty. To be given by the author."""
        raise NotImplementedError(f"{type(self).__name__} gives no fixture named 'provider'")

    @pytest.fixture
    async def opened(self, provider: Provider) -> AsyncIterator[Provider]:
        """The provider, started."""
        await provider.start()
        self._provider = provider
        try:
            yield provider
        finally:
            await provider.aclose()

    @pytest.fixture
    async def fs(self, opened: Provider) -> AsyncIterator[Filesystem]:
        """A filesystem over the provider, open."""
        async with Filesystem(opened) as fs:
            yield fs

    @pytest.fixture
    async def can(self, opened: Provider) -> Capabilities:
        """What the store declares; tests enrol by it."""
        return await opened.capabilities(StoragePath("/"))

    @pytest.fixture
    def slow(self, request: pytest.FixtureRequest) -> bool:
        """Whether the long loops were asked for."""
        return bool(request.config.getoption("--slow", default=False))

    async def peek(self, path: StoragePath) -> bytes | None:
        """The content stored under ``path``, read past the provider; ``None`` where there is no such file."""
        try:
            reader = await self._provider.read(path)
        except PathNotFoundError:
            return None
        async with reader:
            return await reader.read()

    async def poke(self, path: StoragePath, data: bytes) -> None:
        """Store ``data`` under ``path`` past the provider, as another program would; parents are made."""
        await self._provider.write(path, data)

    async def link(self, path: StoragePath, target: str) -> None:
        """Make a symbolic link past the provider; needed where ``symlinks`` is declared.

        ``target`` is stored as it is; one that starts with ``/`` is to lead **out of** the store's root.
        """
        pytest.fail(f"{type(self).__name__} declares symlinks, but has no hook 'link' to make one at {path}")

    async def leftovers(self) -> list[str]:
        """Names of temporaries and unfinished uploads in the store, seen past the provider; none by default."""
        return []

    async def put(self, path: str, data: bytes = b"x") -> None:
        """Make a file that a test needs to be there."""
        await self._provider.write(StoragePath(path), data)

    async def names(self) -> set[str]:
        """Every path in the store: the same listing for every test that compares before and after."""
        found = await collect(self._provider.list(StoragePath("/"), recursive=True))
        return {str(entry.path) for entry in found}

    async def content(self) -> dict[str, bytes]:
        """Every file of the store with its bytes."""
        held: dict[str, bytes] = {}
        for entry in await collect(self._provider.list(StoragePath("/"), recursive=True)):
            if entry.path is not None and entry.kind is Kind.FILE:
                async with await self._provider.read(entry.path) as reader:
                    held[str(entry.path)] = await reader.read()
        return held
