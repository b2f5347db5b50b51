"""Async iterators that are left half-way, or that fail."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NoReturn, Self, TypeVar

from moorage.models import Reader

S = TypeVar("S", bound=AsyncIterator[Any])


class closing(AbstractAsyncContextManager[S, None]):  # noqa: N801 - as contextlib names its own
    """Closes ``stream`` on the way out, if it can be closed, so that its handles go back at once.

    It is no generator itself: an event loop that ends closes all generators that are left, in no order.
    """

    def __init__(self, stream: S) -> None:
        self._stream = stream

    async def __aenter__(self) -> S:
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        aclose = getattr(self._stream, "aclose", None)
        if aclose is not None:
            await aclose()


class CallersChunks:
    """A stream of chunks that somebody else gave; remembers the error that it raised, which is theirs: its path, if it
    has one, is of their tree and not of the store that was being written.
    """

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = aiter(chunks)
        self.error: Exception | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            raise
        except Exception as error:
            self.error = error
            raise

    async def aclose(self) -> None:
        """Close the stream, if it can be closed."""
        async with closing(self._chunks):
            """Left at once."""


class TranslatedReader(Reader):
    """A reader whose errors are raised by ``failed``; closing it closes ``reader``."""

    __slots__ = ("_failed", "_reader")

    def __init__(self, reader: Reader, failed: Callable[[Exception], NoReturn]) -> None:
        super().__init__(reader.stat, reader, reader.aclose)
        self._reader = reader
        self._failed = failed

    async def read(self) -> bytes:
        try:
            return await self._reader.read()
        except Exception as error:
            self._failed(error)

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except StopAsyncIteration:
            raise
        except Exception as error:
            self._failed(error)
