"""One pool of connections for each event loop that a client is used on, closed with the client or with the loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

import aiohttp

from moorage import ClosedError, ConfigError, UnsupportedError
from moorage_s3.forks import generation

_IDLE: Final = 12.0
"""Seconds that an unused connection is kept; AWS closes them after about twenty."""
_FREE_AFTER: Final = 5
"""Times that a request may take to connect and to be answered, within which one of all connections becomes free."""
_HIDDEN_RETRY: Final = "_retry_connection"
"""aiohttp sends a request again by itself when a kept connection turns out to be closed. A retry that nobody knows of
makes a conditional write fail on its own first attempt, so it is switched off; a test watches that it stays off."""
_NO_AUTOMATIC_HEADERS: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections, and how long to wait for each step, in seconds."""

    most: int = 64
    connect_timeout: float = 10.0
    read_timeout: float = 60.0
    ca_bundle: str | None = None
    proxy: str | None = field(default=None, repr=False)

    @property
    def patience(self) -> float:
        """For credentials, which may have to be asked for elsewhere."""
        return self.connect_timeout + self.read_timeout


class _Pool:
    """The connections of one loop."""

    __slots__ = ("_closing", "session")

    def __init__(self, limits: ConnectionLimits) -> None:
        secure: ssl.SSLContext | bool = True
        if limits.ca_bundle is not None:
            secure = _trusting(limits.ca_bundle)
        connector = aiohttp.TCPConnector(limit=limits.most, keepalive_timeout=_IDLE, ssl=secure)
        timeout = aiohttp.ClientTimeout(
            total=None,
            connect=_FREE_AFTER * (limits.connect_timeout + limits.read_timeout),
            sock_connect=limits.connect_timeout,
            sock_read=limits.read_timeout,
        )
        self.session = aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_NO_AUTOMATIC_HEADERS,
            proxy=limits.proxy,
            read_bufsize=1 << 18,
        )
        setattr(self.session, _HIDDEN_RETRY, False)
        self._closing = _closed_at_the_end(self.session)

    async def tie_to_loop(self) -> None:
        """From now on the loop closes this pool when it shuts down, or when nobody holds it any more."""
        await anext(self._closing)

    async def aclose(self) -> None:
        await self._closing.aclose()
        await self.session.close()


async def _closed_at_the_end(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    """Loops close the generators that were started on them: the one hook that ends with the loop."""
    try:
        yield
    finally:
        await session.close()


def _trusting(ca_bundle: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_bundle)
    except OSError as error:
        reason = type(error).__name__
    raise ConfigError(f"ca_bundle: cannot be read as certificates: {reason}")


class Connections:
    """The pools of one client.

    Raises from :meth:`session`:
        UnsupportedError: the running event loop is not asyncio's.
        ClosedError: the client is closed, or was opened before this process was forked.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()
        self._born: int | None = None

    async def open(self) -> None:
        """Be usable on the running loop."""
        loop = running_loop()
        if self._born is not None:
            self._check_process()
        self._born = generation()
        if loop not in self._pools:
            self._forget_closed()
            pool = self._pools[loop] = _Pool(self._limits)
            await pool.tie_to_loop()

    async def session(self) -> aiohttp.ClientSession:
        """The session of the running loop; a loop that is new to this client gets one."""
        if self._born != generation():
            self._check_process()
        pool = self._pools.get(running_loop())
        if pool is None or pool.session.closed:
            self._pools.pop(running_loop(), None)
            await self.open()
            pool = self._pools[running_loop()]
        return pool.session

    async def aclose(self) -> None:
        """Close what belongs to the running loop; other loops close their own when they end."""
        if self._born != generation():
            _ABANDONED.append(self._pools)  # the parent's connections: not ours to say goodbye on
            self._pools = WeakKeyDictionary()
        else:
            pool = self._pools.pop(running_loop(), None)
            if pool is not None:
                await pool.aclose()
        self._born = None

    def _forget_closed(self) -> None:
        """A pool holds its loop, so that the loop's end alone frees neither."""
        for loop, pool in list(self._pools.items()):
            if loop.is_closed() and pool.session.closed:
                self._pools.pop(loop, None)

    def _check_process(self) -> None:
        if self._born is None:
            raise ClosedError("the client is closed", provider="s3")
        if self._born != generation():
            raise ClosedError(
                "this process was forked after the filesystem was opened; make and open another one in the child",
                provider="s3",
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
        raise UnsupportedError("S3 needs asyncio: no asyncio event loop is running here, e.g. under trio") from None
