"""A tree as a dict: what any store must agree with, and which refusals are right where several are."""

from __future__ import annotations

from collections.abc import Iterator

from moorage import (
    DirectoryNotEmptyError,
    InvalidArgumentError,
    MoorageError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    StaleFileError,
    TransferError,
    UnsupportedError,
)

Refusals = set[type[MoorageError]]
"""The errors any of which is right; empty where the call must succeed."""


class TreeModel:
    """Files and directories below ``top``.

    Attributes:
        files: contents by path.
        made: directories that exist by themselves; where directories are real, all of them.
        unsure: directories of which the store may or may not keep a trace once they are empty.
    """

    def __init__(self, top: str, *, real_directories: bool, conditional: bool) -> None:
        self.top = top
        self.real = real_directories
        self.conditional = conditional
        self.files: dict[str, bytes] = {}
        self.made: set[str] = {top}
        self.unsure: set[str] = set()

    def is_dir(self, path: str) -> bool:
        return path in self.made or any(other.startswith(f"{path}/") for other in (*self.files, *self.made))

    def exists(self, path: str) -> bool:
        return path in self.files or self.is_dir(path)

    def below(self, path: str) -> dict[str, bytes | None]:
        """Everything below, directories as ``None``."""
        found: dict[str, bytes | None] = {}
        for other in (*self.files, *self.made):
            if other.startswith(f"{path}/"):
                found |= {parent: None for parent in _parents(other) if parent.startswith(f"{path}/")}
                found[other] = self.files.get(other)
        return found

    def children(self, path: str) -> dict[str, bytes | None]:
        return {other: data for other, data in self.below(path).items() if other.rpartition("/")[0] == path}

    # Refusals

    def refuse_write(self, path: str, *, overwrite: bool, create_parents: bool, fresh: bool | None) -> Refusals:
        """``fresh`` tells whether the expectation holds; ``None``: there is none."""
        due = self._refuse_expectation(path, fresh)
        if self.is_dir(path):
            due.add(PathIsDirectoryError)
        if self._file_above(path):
            due.add(PathNotDirectoryError)
        if not overwrite and self.exists(path):
            due.add(PathExistsError)
        if not create_parents and not self.is_dir(path.rpartition("/")[0]):
            due.add(PathNotFoundError)
        return due

    def refuse_delete(self, path: str, *, missing_ok: bool, fresh: bool | None) -> Refusals:
        due = self._refuse_expectation(path, fresh)
        if self.is_dir(path):
            due.add(PathIsDirectoryError)
        elif path not in self.files and fresh is None and not missing_ok:
            due.add(PathNotFoundError)
        return due

    def refuse_transfer(self, src: str, dst: str, *, overwrite: bool, recursive: bool) -> Refusals:
        if not self.exists(src):
            return {PathNotFoundError} | self.refuse_write(dst, overwrite=overwrite, create_parents=True, fresh=None)
        if src in self.files:
            if src == dst:
                return set()
            return self.refuse_write(dst, overwrite=overwrite, create_parents=True, fresh=None)
        due: Refusals = set() if recursive else {PathIsDirectoryError}
        if src == dst:
            return due
        if dst.startswith(f"{src}/"):
            due.add(InvalidArgumentError)
        if dst in self.files:
            due |= {PathNotDirectoryError} if overwrite else {PathExistsError}
        if self._file_above(dst):
            due |= {PathNotDirectoryError, TransferError}
        return due

    def refuse_make_dir(self, path: str, *, parents: bool, exist_ok: bool) -> Refusals:
        due: Refusals = set()
        if path in self.files or (not exist_ok and self.is_dir(path)):
            due.add(PathExistsError)
        if self._file_above(path):
            due.add(PathNotDirectoryError)
        if not parents and not self.is_dir(path.rpartition("/")[0]):
            due.add(PathNotFoundError)
        return due

    def refuse_remove_dir(self, path: str, *, recursive: bool, missing_ok: bool) -> Refusals:
        if path in self.files:
            return {PathNotDirectoryError}
        if not self.exists(path):
            return set() if missing_ok else {PathNotFoundError}
        return {DirectoryNotEmptyError} if self.below(path) and not recursive else set()

    def refuse_list(self, path: str) -> Refusals:
        if path in self.files:
            return {PathNotDirectoryError}
        return set() if self.is_dir(path) else {PathNotFoundError}

    def refuse_read(self, path: str) -> Refusals:
        if path in self.files:
            return set()
        return {PathIsDirectoryError} if self.is_dir(path) else {PathNotFoundError}

    # Changes; each only after nothing refused it

    def put(self, path: str, data: bytes) -> None:
        self.files[path] = data
        self._make_parents(path)

    def make_dir(self, path: str) -> None:
        if not self.real and self.is_dir(path) and path not in self.made:
            self.unsure.add(path)
            return
        self.made.add(path)
        self._make_parents(path)

    def remove(self, path: str) -> None:
        """A file, or a directory with everything below it."""
        self.files = {other: data for other, data in self.files.items() if not _within(other, path)}
        self.made = {other for other in self.made if not _within(other, path)}
        self.unsure = {other for other in self.unsure if not _within(other, path)}

    def transfer(self, src: str, dst: str, *, keep: bool) -> None:
        """Copy or move ``src``; a directory goes to a place that is free."""
        if src == dst:
            return
        if src in self.files:
            data = self.files[src]
            if not keep:
                self.remove(src)
            self.put(dst, data)
            return
        tree: dict[str, bytes | None] = {src: None}
        tree |= self.below(src)
        filled = {other.rpartition("/")[0] for other in tree if other != src}
        if not keep:
            self.remove(src)
        for other, content in tree.items():
            target = dst + other.removeprefix(src)
            if content is not None:
                self.put(target, content)
            elif self.real or other not in filled:
                self.made.add(target)
                self._make_parents(target)
            else:
                self.unsure.add(target)

    def doubtful(self) -> Iterator[str]:
        """Directories that nothing holds any more, of which the store must be asked; deepest first."""
        for path in sorted(self.unsure, key=len, reverse=True):
            if path in self.made or self.below(path):
                continue
            self.unsure.discard(path)
            yield path

    def _refuse_expectation(self, path: str, fresh: bool | None) -> Refusals:
        if fresh is None:
            return set()
        if not self.conditional:
            return {UnsupportedError}
        return set() if fresh and path in self.files else {StaleFileError}

    def _file_above(self, path: str) -> bool:
        return any(parent in self.files for parent in _parents(path))

    def _make_parents(self, path: str) -> None:
        if self.real:
            self.made |= {parent for parent in _parents(path) if _within(parent, self.top)}


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts))]


def _within(path: str, ancestor: str) -> bool:
    return path == ancestor or path.startswith(f"{ancestor}/")
