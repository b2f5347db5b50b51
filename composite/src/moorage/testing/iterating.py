"""Use an async iterator and close it, whether or not it is a generator."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def closing(items: AsyncIterator[T]) -> AsyncGenerator[AsyncIterator[T]]:
    """Give ``items`` and close it at the end, if it can be closed."""
    try:
        yield items
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


async def collect(items: AsyncIterator[T]) -> list[T]:
    """All items, as a list."""
    async with closing(items) as open_items:
        return [item async for item in open_items]
