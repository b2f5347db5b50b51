"""Operands of ``cp`` and ``mv``: paths in the tree, and ``local:`` paths of this machine's disk, in one tree for both.

Each host directory that an operand needs is mounted beside the workspace's mounts, so that a copy from or to the disk
is a copy across mounts like any other. A host source that is only read is mounted read-only, and as itself: no link in
it leads out of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from moorage.cli.session import Session
from moorage.config import ProviderOptions
from moorage.config.validation import options_class, validate_options
from moorage.errors import InvalidArgumentError, MoorageError, PathNotFoundError, TransferError
from moorage.paths import StoragePath

HOST_PREFIX: Final = "local:"


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand: as it was written, and where it is in the joined tree.

    Attributes:
        name: what a copy of it is called in another directory; empty for a root.
        directory_meant: a trailing slash says so.
    """

    text: str
    path: StoragePath
    name: str
    directory_meant: bool = False
    on_host: bool = False

    def child(self, name: str) -> Operand:
        return Operand(f"{self.text.rstrip('/')}/{name}", self.path.child(name), name, on_host=self.on_host)


class Operands:
    """Turns texts into operands, and collects the mounts that they need."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.mounts: dict[str, ProviderOptions] = {}
        self._written: dict[str, str] = {}

    def source(self, text: str, *, read_only: bool) -> Operand:
        """What is copied or moved. A directory that is only read becomes a mount of its own.

        Raises:
            PathNotFoundError: the host directory that would hold it does not exist.
        """
        host = _host_path(text)
        if host is None:
            return _in_workspace(text)
        if read_only and host.is_dir():
            return self._operand(text, self._mount(host, text, read_only=True), host.name)
        if not host.parent.is_dir():
            raise PathNotFoundError("no such directory", path=text)
        parent = self._mount(host.parent, _parent_text(text), read_only=read_only)
        return self._operand(text, parent.child(host.name), host.name)

    def target(self, text: str) -> Operand:
        """Where it goes; directories that are missing on the way are made."""
        host = _host_path(text)
        if host is None:
            return _in_workspace(text)
        present = next(place for place in (host, *host.parents) if place.is_dir())
        below = host.relative_to(present).as_posix()
        shown = text.rstrip("/")
        for _ in host.relative_to(present).parts:
            shown = _parent_text(shown)
        return self._operand(text, self._mount(present, shown, read_only=False) / below, host.name)

    @contextmanager
    def as_written(self) -> Generator[None]:
        """Errors name host paths as the user wrote them."""
        try:
            yield
        except MoorageError as error:
            self._rename_all(error)
            raise

    def _operand(self, text: str, path: StoragePath, name: str) -> Operand:
        self._written[str(path)] = text
        return Operand(text, path, name, text.endswith("/"), on_host=True)

    def _mount(self, directory: Path, shown: str, *, read_only: bool) -> StoragePath:
        path = f"/{HOST_PREFIX}{len(self.mounts)}"
        options = options_class("local", self._session.registry)
        values = {"base_path": str(directory), "read_only": read_only}
        self.mounts[path] = validate_options(options, values, origin=HOST_PREFIX)
        self._written[path] = shown
        return StoragePath(path)

    def _rename_all(self, error: MoorageError) -> None:
        error.path = None if error.path is None else self._rename(error.path)
        error.message = self._rename_within(error.message)
        if isinstance(error, TransferError):
            for _, inner in error.failed:
                self._rename_all(inner)
            error.done = tuple(self._rename(path) for path in error.done)
            error.failed = tuple((self._rename(path), inner) for path, inner in error.failed)

    def _rename(self, path: str) -> str:
        for known in sorted(self._written, key=len, reverse=True):
            if path == known:
                return self._written[known]
            if path.startswith(f"{known}/"):
                return _joined(self._written[known], path[len(known) + 1 :])
        return path

    def _rename_within(self, message: str) -> str:
        """``message``, with the paths that it quotes renamed."""
        known = "|".join(map(re.escape, sorted(self._written, key=len, reverse=True)))
        if not known:
            return message
        quoted = re.compile(rf"""(?<![^\s'"(])({known})(?:(/)|(?=[\s'"),:;]|$))""")
        return quoted.sub(self._quoted, message)

    def _quoted(self, found: re.Match[str]) -> str:
        shown = self._written[found[1]]
        return _joined(shown, "") if found[2] else shown


def _in_workspace(text: str) -> Operand:
    path = StoragePath.parse(text)
    return Operand(text, path, path.name, text.endswith("/"))


def _host_path(text: str) -> Path | None:
    """The absolute host path of ``local:…``, with every link but the last resolved; ``None`` for a workspace path."""
    if not text.startswith(HOST_PREFIX):
        return None
    written = text[len(HOST_PREFIX) :]
    if not written or "\0" in written:
        raise InvalidArgumentError("local: needs a path", path=text)
    path = Path(written).expanduser()
    if path.name in ("", ".."):
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent), path.name)


def _parent_text(text: str) -> str:
    """How the directory that holds ``text`` would have been written."""
    written = text[len(HOST_PREFIX) :].rstrip("/")
    return HOST_PREFIX + (os.path.dirname(written) or ("/" if written.startswith("/") else "."))


def _joined(directory: str, name: str) -> str:
    return f"{directory.removesuffix('/')}/{name}"
