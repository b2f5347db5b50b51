"""Where to measure: a directory of its own on tmpfs, on a fresh ext4 with a journal, or where the user says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SHARED_MEMORY: Final = Path("/dev/shm")
_IMAGE_SIZE: Final = 8 << 30
_ATTEMPTS: Final = 50
_PAUSE: Final = 0.1  # seconds
_MOUNTS: Final = Path("/proc/self/mountinfo")


class NoPlaceError(Exception):
    """There is no such place here; the message says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """An empty directory and what it lies on."""

    directory: Path
    file_system: str


@contextmanager
def fresh(directory: Path | None, *, ext4: bool) -> Generator[Place]:
    """A place that is gone afterwards, whatever happens.

    Raises:
        NoPlaceError: no such directory, or no ext4 can be made and mounted.
    """
    parent = directory or _default_parent()
    if not parent.is_dir():
        raise NoPlaceError("--directory names no directory")
    made = Path(tempfile.mkdtemp(prefix="moorage-bench-", dir=parent))
    try:
        if not ext4:
            yield Place(made, _file_system(made))
            return
        with _mounted_ext4(made) as mounted:
            yield Place(mounted, "ext4 with a journal, fresh, on a loop device")
    finally:
        _remove(made)


def _remove(directory: Path) -> None:
    """Patiently: threads of an interrupted run may still be ending in there."""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(_PAUSE)
    print("bench: could not remove everything that was made", file=sys.stderr)


def _default_parent() -> Path:
    usable = _SHARED_MEMORY.is_dir() and os.access(_SHARED_MEMORY, os.W_OK | os.X_OK)
    return _SHARED_MEMORY if usable else Path(tempfile.gettempdir())


@contextmanager
def _mounted_ext4(directory: Path) -> Generator[Path]:
    image, mount_point = directory / "image", directory / "mounted"
    mount_point.mkdir()
    with image.open("wb") as file:
        file.truncate(_IMAGE_SIZE)
    _root_command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-O", "has_journal", image)
    _root_command("mount", "-o", "loop", image, mount_point)
    try:
        inside = mount_point / "bench"
        inside.mkdir()
        yield inside
    finally:
        _root_command("umount", mount_point)


def _root_command(name: str, *arguments: str | Path) -> None:
    search = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    command = shutil.which(name, path=search)
    if command is None:
        raise NoPlaceError(f"--ext4 needs {name}")
    done = subprocess.run([command, *arguments], capture_output=True, check=False, timeout=120)
    if done.returncode != 0:
        raise NoPlaceError(f"--ext4 needs root and loop devices: {name} failed")


def _file_system(directory: Path) -> str:
    """The type of the file system, where the kernel tells it."""
    try:
        lines = _MOUNTS.read_text().splitlines()
    except OSError:
        return "unknown"
    best, kind = "", "unknown"
    for line in lines:
        before, _, after = line.partition(" - ")
        mount_point = before.split()[4]
        if len(mount_point) >= len(best) and directory.resolve().is_relative_to(mount_point):
            best, kind = mount_point, after.split()[0]
    return kind
