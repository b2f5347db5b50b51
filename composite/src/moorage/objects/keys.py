"""Paths and keys: one key for one path, at most one path for one key, and no path at all for an odd key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from moorage.errors import InvalidPathError, NameTooLongError
from moorage.paths import StoragePath

FOLDER_SUFFIX: Final = "_$folder$"
"""How older Hadoop tools mark a directory ``p``: a zero-byte object ``p_$folder$``. Read, never written."""


@dataclass(frozen=True, slots=True)
class Located:
    """What a key stands for: the file or the directory at ``path``, or nothing that a path can name.

    Attributes:
        path: ``None`` for an odd key.
        is_marker: the object is a directory marker: it says that ``path`` is a directory and has no content.
        reached: of an odd key: the deepest directory on the way to it that a path can name.
    """

    path: StoragePath | None
    is_marker: bool = False
    reached: StoragePath | None = None


_ROOT: Final = StoragePath("/")


class KeyMap:
    """The injective mapping between the paths of one provider and the keys below its prefix.

    The key of ``/a/b`` is ``prefix + "a/b"``; the same path as a directory is ``prefix + "a/b/"``, which is also the
    key of its marker. A key is expressible exactly if it is the key of some path: ``a//b``, ``/a``, ``./a``, ``a/..``
    and control characters are not, and no path leads to them; nor is ``a/`` once it has content.

    Attributes:
        met_foreign_marker: whether a marker of the other style was met so far.
    """

    def __init__(self, prefix: str, max_bytes: int) -> None:
        """``prefix`` is parsed like a path: ``2026``, ``/2026/`` and ``2026/`` are the same.

        Raises:
            InvalidPathError, NameTooLongError: the prefix is no path, or leaves no room for a name.
        """
        below = StoragePath.parse(prefix).relative
        self.prefix: Final = f"{below}/" if below else ""
        self.met_foreign_marker = False
        self._max_bytes = max_bytes
        if len(self.prefix.encode()) >= max_bytes:
            raise NameTooLongError("the prefix leaves no room for a name", path=prefix)

    def key(self, path: StoragePath) -> str:
        """The key of the file at this path, which is not the root.

        Raises:
            NameTooLongError: longer than the store's keys can be.
        """
        key = self.prefix + path.relative
        if not self.fits(key):
            raise NameTooLongError(f"longer than {self._max_bytes} bytes as a key", path=str(path))
        return key

    def new_key(self, path: StoragePath) -> str:
        """As ``key``, for a file that is to be written.

        Raises:
            InvalidPathError: the name is that of a directory marker.
        """
        if has_folder_suffix(path):
            raise InvalidPathError(f"names that end in {FOLDER_SUFFIX} mark directories on this store", path=str(path))
        return self.key(path)

    def directory(self, path: StoragePath) -> str:
        """The prefix of everything in this directory, and the key of its marker."""
        return self.prefix if path.is_root else f"{self.prefix}{path.relative}/"

    def fits(self, key: str) -> bool:
        """Whether the store can have such a key."""
        return len(key) * 4 <= self._max_bytes or len(key.encode()) <= self._max_bytes

    def raw_name(self, key: str) -> bytes:
        """The bytes of a key below the prefix."""
        return key.removeprefix(self.prefix).encode("utf-8", "surrogatepass")

    def locate(self, key: str, size: int | None) -> Located:
        """What the key below the prefix stands for; ``size`` tells a foreign marker from a file of that name."""
        tail = key.removeprefix(self.prefix)
        if not tail:
            return Located(_ROOT, is_marker=True)
        text = tail.removesuffix("/")
        path = _expressed(text)
        if path is None:
            return Located(None, reached=_reached(tail))
        if text != tail:
            return Located(None, reached=path) if size else Located(path, is_marker=True)
        if size == 0 and has_folder_suffix(path):
            self.met_foreign_marker = True
            return Located(path.parent.child(path.name.removesuffix(FOLDER_SUFFIX)), is_marker=True)
        return Located(path)


def has_folder_suffix(path: StoragePath) -> bool:
    """Whether an empty object of this name marks a directory."""
    return path.name.endswith(FOLDER_SUFFIX) and path.name.removesuffix(FOLDER_SUFFIX) not in ("", ".", "..")


def _expressed(text: str) -> StoragePath | None:
    try:
        path = StoragePath("/" + text)
    except InvalidPathError:
        return None
    return path if text and path.relative == text else None


def _reached(tail: str) -> StoragePath:
    reached = _ROOT
    for name in tail.split("/")[:-1]:
        try:
            reached = reached.child(name)
        except InvalidPathError:
            break
    return reached
