"""Work that takes long is done in a thread, so that no other call waits; what is short is done sooner without."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio.to_thread

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def worked(work: Callable[[*Ts], T], *arguments: *Ts, at_once: bool) -> T:
    """What the function returns: called right here if it is short enough for that, else in a thread."""
    return work(*arguments) if at_once else await anyio.to_thread.run_sync(work, *arguments)
