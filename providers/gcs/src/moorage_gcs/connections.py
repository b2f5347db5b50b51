"""One pool of connections for each event loop that a client is used on, closed with the client or with the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

import aiohttp

from moorage import ClosedError, UnsupportedError
from moorage_gcs import sdk
from moorage_gcs.forks import generation, leave_behind_at_fork
from moorage_gcs.tokens import TokenSource


class _Pool:
    """The connections of one loop, in a gcsfs filesystem of its own."""

    __slots__ = ("_closing", "_filesystem", "open", "session")

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem
        self.session: aiohttp.ClientSession = filesystem.session
        self.open: WeakSet[aiohttp.ClientResponse] = WeakSet()
        self._closing = _closed_at_the_end(self.session)
        leave_behind_at_fork(self.session)

    async def tie_to_loop(self) -> None:
        """From now on the loop closes this pool when it shuts down, or when nobody holds it any more."""
        await anext(self._closing)

    async def aclose(self) -> None:
        """Close every connection; whoever still reads from one learns that it broke, rather than wait for ever."""
        for response in list(self.open):
            response.close()
        await self._closing.aclose()
        await self.session.close()


async def _closed_at_the_end(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    """Loops close the generators that were started on them: the one hook that ends with the loop."""
    try:
        yield
    finally:
        await session.close()


class Connections:
    """The pools of one client.

    Raises from :meth:`session`:
        UnsupportedError: the running event loop is not asyncio's.
        ClosedError: the client is closed, or was opened before this process was forked.
    """

    def __init__(self, source: TokenSource, endpoint: str, project: str | None, limits: sdk.ConnectionLimits) -> None:
        self._source = source
        self._endpoint = endpoint
        self._project = project
        self._limits = limits
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()
        self._born: int | None = None

    async def open(self) -> None:
        """Be usable on the running loop."""
        loop = running_loop()
        if self._born is not None:
            self._check_process()
        self._born = generation()
        if loop in self._pools and not self._pools[loop].session.closed:
            return
        google = await self._source.google()
        pool = _Pool(await sdk.open_session(google, self._endpoint, self._project, self._limits))
        other = self._pools.get(loop)
        if other is None or other.session.closed:
            self._pools[loop] = pool
            await pool.tie_to_loop()
        else:
            await pool.aclose()

    async def session(self) -> aiohttp.ClientSession:
        """The session of the running loop; a loop that is new to this client gets one."""
        if self._born != generation():
            self._check_process()
        pool = self._pools.get(running_loop())
        if pool is None or pool.session.closed:
            await self.open()
            pool = self._pools[running_loop()]
        return pool.session

    def opened(self, response: aiohttp.ClientResponse) -> None:
        """See to it that this answer, from the running loop's session, ends with its pool."""
        pool = self._pools.get(running_loop())
        if pool is not None:
            pool.open.add(response)
        else:
            response.close()

    async def aclose(self) -> None:
        """Close what belongs to the running loop; other loops close their own when they end."""
        if self._born not in (None, generation()):
            _ABANDONED.append(self._pools)  # the parent's connections: not ours to say goodbye on
            self._pools = WeakKeyDictionary()
        else:
            pool = self._pools.pop(running_loop(), None)
            if pool is not None:
                await pool.aclose()
        self._born = None

    def _check_process(self) -> None:
        if self._born is None:
            raise ClosedError("the client is closed", provider="gcs")
        if self._born != generation():
            raise ClosedError(
                "this process was forked after the filesystem was opened; make and open another one in the child",
                provider="gcs",
            )


_ABANDONED: Final[list[object]] = []


def running_loop() -> asyncio.AbstractEventLoop:
    """The running asyncio loop.

    Raises:
        UnsupportedError: another one is running, or none.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise UnsupportedError("GCS needs asyncio: no asyncio event loop is running here, e.g. under trio") from None
