"""The pauses between attempts of something that several writers try at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import anyio

ATTEMPTS: Final = 40
_FIRST: Final = 0.005
_LONGEST: Final = 0.5


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of a limited number: ``pause`` seconds are to pass before it."""

    pause: float
    is_last: bool

    async def wait(self) -> None:
        """Sleep before the attempt; the first one does not."""
        if self.pause:
            await anyio.sleep(self.pause)


def attempts(count: int = ATTEMPTS) -> Iterator[Attempt]:
    """The attempts in order, with random pauses whose bound doubles up to half a second."""
    bound = _FIRST
    for index in range(count):
        pause = random.uniform(0, bound) if index else 0.0  # noqa: S311 - spreads writers, hides nothing
        yield Attempt(pause, is_last=index + 1 == count)
        bound = min(2 * bound, _LONGEST) if index else bound
