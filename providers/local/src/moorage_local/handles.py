"""One open descriptor with one owner: closed exactly once, also when nobody closes it."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self


class Handle:
    """An open descriptor. Dropping the last reference closes it silently: a reader may be dropped half-way."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
