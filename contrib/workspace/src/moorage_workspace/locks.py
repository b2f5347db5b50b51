"""One writer a file: locks by the file's identity, first come first served, shared by all sessions of a workspace."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio

from moorage_workspace.errors import Refusal, ToolRefusedError


class FileLocks:
    """In one process. Between processes the store's own conditional write decides, which every tool makes use of."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def holding(self, identities: Iterable[str], patience: float) -> AsyncGenerator[None]:
        """Hold all of them; taken in sorted order, so that no two callers wait for each other.

        Raises:
            ToolRefusedError: they were not free within ``patience`` seconds; nothing is held, and nothing is queued.
        """
        held: list[str] = []
        try:
            try:
                with anyio.fail_after(patience):
                    for identity in sorted(set(identities)):
                        await self._take(identity)
                        held.append(identity)
            except TimeoutError:
                raise ToolRefusedError(
                    f"another call is still writing this file after {patience:g} s; nothing was done, try again later",
                    refusal=Refusal.LOCK_TIMEOUT,
                    retryable=True,
                ) from None
            yield
        finally:
            for identity in reversed(held):
                self._release(identity)

    async def _take(self, identity: str) -> None:
        queue = self._waiting.get(identity)
        if queue is None:
            self._waiting[identity] = deque()
            return
        turn = anyio.Event()
        queue.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self._release(identity)
            else:
                queue.remove(turn)
            raise

    def _release(self, identity: str) -> None:
        queue = self._waiting[identity]
        if queue:
            queue.popleft().set()
        else:
            del self._waiting[identity]
