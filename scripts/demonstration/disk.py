"""The real disk, looked at past Moorage: what every claim is measured against."""

from __future__ import annotations

import hashlib
import os
import stat as posix
from collections.abc import Iterable
from pathlib import Path
from typing import Final

LEFT_OUT: Final = frozenset({"__pycache__", "site-packages", "dist-packages"})
"""Directories of a standard library that are not it: caches, and what was installed beside it."""

LARGEST: Final = 4 << 20
"""Bytes of the largest file that is imported; static libraries and the like stay out."""

MOST: Final = 6_000
"""Files that are imported at most."""


def is_wanted(name: str, size: int) -> bool:
    return name.isprintable() and size <= LARGEST


def bounded(paths: Iterable[str]) -> list[str]:
    """The paths that are imported, in order."""
    return sorted(paths)[:MOST]


def files_below(directory: Path, *, wanted_only: bool = False) -> dict[str, os.stat_result]:
    """Every regular file below ``directory``, by its relative path."""
    found: dict[str, os.stat_result] = {}
    for at, names, files in os.walk(directory):
        if wanted_only:
            names[:] = [name for name in names if name not in LEFT_OUT]
        for name in files:
            path = Path(at, name)
            st = path.lstat()
            if posix.S_ISREG(st.st_mode) and (not wanted_only or is_wanted(name, st.st_size)):
                found[path.relative_to(directory).as_posix()] = st
    if not wanted_only:
        return found
    return {path: found[path] for path in bounded(found)}


def checksums(directory: Path, paths: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each file, as Moorage writes checksums."""
    return {path: f"sha256:{hashlib.sha256((directory / path).read_bytes()).hexdigest()}" for path in paths}


def snapshot(directory: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each wanted file, and every name at the top: differs after any change there."""
    files = files_below(directory, wanted_only=True)
    top = dict.fromkeys(os.listdir(directory), (-1, -1))
    return top | {path: (st.st_size, st.st_mtime_ns) for path, st in files.items()}


def microseconds(st: os.stat_result) -> int:
    """The time of last change in whole microseconds since 1970, floored."""
    return st.st_mtime_ns // 1_000
