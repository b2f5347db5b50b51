"""Time, as a port, so that tests need not wait."""

from __future__ import annotations

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """Seconds on a monotonic scale, and waiting for them."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The real one."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)
