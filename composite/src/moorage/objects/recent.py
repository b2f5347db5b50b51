"""What this process itself did lately, so that it need not ask the store about its own work."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from moorage.models import Kind
from moorage.paths import StoragePath

LIFETIME: Final = 5.0
"""Seconds for which own knowledge counts."""

CAPACITY: Final = 4096


class RecentNames:
    """Which paths were files and directories when this provider last wrote there; bounded and short-lived.

    Only ever used to leave out a best-effort check or to choose what to ask first; no answer is built on it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[Kind, float]] = OrderedDict()

    def kind(self, path: StoragePath) -> Kind | None:
        """What was there, or ``None`` when that is not known or too long ago."""
        if path.is_root:
            return Kind.DIRECTORY
        kind, expires = self._known.get(str(path), (None, 0.0))
        return kind if expires > self._clock() else None

    def wrote(self, path: StoragePath, kind: Kind = Kind.FILE) -> None:
        """A file, or a directory, was just made here: everything above is a directory."""
        self._remember(path, kind)
        for parent in path.parents[:-1]:
            self._remember(parent, Kind.DIRECTORY)

    def forget(self, path: StoragePath) -> None:
        """The path was removed, and with it, maybe, the directories above it."""
        for gone in (path, *path.parents):
            self._known.pop(str(gone), None)

    def forget_all(self) -> None:
        self._known.clear()

    def _remember(self, path: StoragePath, kind: Kind) -> None:
        text = str(path)
        self._known[text] = (kind, self._clock() + LIFETIME)
        self._known.move_to_end(text)
        if len(self._known) > CAPACITY:
            self._known.popitem(last=False)
