"""The one path type. Strings are parsed here, once, where they enter; below this boundary no raw string is a path."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Self

from moorage.errors import InvalidPathError

__all__ = ["PathLike", "StoragePath"]

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


class StoragePath:
    """A path within one filesystem: absolute, POSIX, canonical, immutable, hashable, cheap.

    Invariants of the text: it starts with ``/``; it has no empty, ``.`` or ``..`` segment, no C0 control character,
    no DEL and no lone surrogate; it ends with ``/`` only if it is the root.

    Nothing is trimmed, case-folded, percent-decoded or Unicode-normalised; a backslash is an ordinary character.
    Lengths are the provider's matter. ``..`` is refused, not resolved: with symbolic links a lexical answer is wrong.
    """

    __slots__ = ("_text",)

    _text: str

    def __new__(cls, value: str | StoragePath = "/") -> Self:
        if isinstance(value, cls):
            return value
        path = object.__new__(cls)
        object.__setattr__(path, "_text", canonical(str(value)))
        return path

    @classmethod
    def parse(cls, value: str | StoragePath) -> StoragePath:
        """Parse what a caller wrote: ``a/b``, ``/a/b``, ``./a//b``, ``.`` and the empty string (the root).

        Raises:
            InvalidPathError: says what is wrong and at which character or segment.
        """
        if isinstance(value, str):
            return _parse(value)
        _refuse_other_types(value)
        return value

    @classmethod
    def _known(cls, text: str) -> StoragePath:
        path = object.__new__(cls)
        object.__setattr__(path, "_text", text)
        return path

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return (type(self), (self._text,))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text!r})"

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoragePath) and self._text == other._text

    def __lt__(self, other: StoragePath) -> bool:
        return self._text.split("/") < other._text.split("/")

    def __truediv__(self, child: str) -> StoragePath:
        """The path of ``child`` below this one; ``child`` may have several segments and is parsed like any input."""
        below = canonical(child)
        if below == "/":
            return self
        return StoragePath._known(below if self.is_root else self._text + below)

    @property
    def is_root(self) -> bool:
        return self._text == "/"

    @property
    def name(self) -> str:
        """The last segment; empty for the root."""
        return self._text.rpartition("/")[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """The segments; empty for the root."""
        return () if self.is_root else tuple(self._text[1:].split("/"))

    @property
    def parent(self) -> StoragePath:
        """The directory that holds this path; the root is its own parent."""
        return StoragePath._known(self._text.rpartition("/")[0] or "/")

    @property
    def parents(self) -> tuple[StoragePath, ...]:
        """Every ancestor, nearest first, ending with the root; empty for the root."""
        found: list[StoragePath] = []
        path = self
        while not path.is_root:
            path = path.parent
            found.append(path)
        return tuple(found)

    @property
    def relative(self) -> str:
        """The text without its leading slash; empty for the root. What key-based stores build keys from."""
        return self._text[1:]

    def is_below(self, ancestor: StoragePath) -> bool:
        """Whether this path is strictly below ``ancestor``, by whole segments."""
        if ancestor.is_root:
            return not self.is_root
        return self._text.startswith(ancestor._text + "/")

    def is_within(self, ancestor: StoragePath) -> bool:
        """Whether this path is ``ancestor`` or below it."""
        return self == ancestor or self.is_below(ancestor)

    def child(self, name: str) -> StoragePath:
        """The direct child of this name, which is known to be one valid segment (listings use this).

        Raises:
            InvalidPathError: ``name`` is not exactly one segment.
        """
        if not is_segment(name):
            raise InvalidPathError(f"not a single path segment: {name!r}", path=name)
        return StoragePath._known(f"/{name}" if self.is_root else f"{self._text}/{name}")

    def rebased(self, old: StoragePath, new: StoragePath) -> StoragePath:
        """This path with its ancestor ``old`` replaced by ``new``; ``old`` must contain this path.

        Raises:
            ValueError: this path is not within ``old``.
        """
        before, after = old._text, new._text
        if before == "/":
            tail = self._text
        elif self._text.startswith(before) and self._text[len(before) : len(before) + 1] in ("", "/"):
            tail = self._text[len(before) :]
        else:
            raise ValueError(f"{self} is not within {old}")
        if tail in ("", "/"):
            return new
        return self if after == before else StoragePath._known(tail if after == "/" else after + tail)


PathLike = str | StoragePath
"""What a caller may pass as a path."""


def _refuse_other_types(value: object) -> None:
    if not isinstance(value, StoragePath):
        raise InvalidPathError(f"a path is text or a StoragePath, not {type(value).__name__}", path=repr(value))


def is_segment(name: str) -> bool:
    """Whether ``name`` can stand between two slashes of a path."""
    return (
        name not in ("", ".", "..")
        and "/" not in name
        and _CONTROL.search(name) is None
        and (name.isascii() or _SURROGATE.search(name) is None)
    )


def canonical(text: str) -> str:
    """The canonical text of a path; the rules are those of :class:`StoragePath`."""
    if bad := _CONTROL.search(text):
        raise InvalidPathError(f"control character U+{ord(bad[0]):04X} at position {bad.start()}", path=text)
    if not text.isascii() and (bad := _SURROGATE.search(text)):
        raise InvalidPathError(f"not encodable as UTF-8: U+{ord(bad[0]):04X} at position {bad.start()}", path=text)
    if text[:1] == "/" and "//" not in text and "/." not in text and (text == "/" or text[-1] != "/"):
        return text
    segments = [segment for segment in text.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise InvalidPathError(f"'..' at segment {segments.index('..') + 1}; write the path without it", path=text)
    return "/" + "/".join(segments)


@lru_cache(maxsize=4096)
def _parse(text: str) -> StoragePath:
    return StoragePath(text)
