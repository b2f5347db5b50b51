"""The process that matches: a pattern that blows up keeps only this busy, and it can be killed.

It reads frames from standard input and writes frames to standard output, see :mod:`moorage_workspace.searching.frames`.
The first frame is the expression, and the first answer whether it is one. It ends when its input does, or by SIGPROF
when compiling or matching has used up its processor time (``left`` seconds of it), which no loop within the engine can
put off.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO, Final
from zlib import crc32

from moorage_workspace.ignoring import GITIGNORE, LARGEST, REPOSITORY, IgnoreFile
from moorage_workspace.searching.frames import Frame, pack, read_frame
from moorage_workspace.searching.matching import NO_PATTERN, LineMatcher
from moorage_workspace.searching.required import RequiredTexts

_AT_ONCE: Final = 256
"""Steps of a walk between two answers."""
_OTHER_WORK: Final = 1e-3
"""Seconds that a step may take without counting as matching."""
_READ_FIRST: Final = 64 * 1024
_LARGEST_READ: Final = 4 * 1024 * 1024
_OPEN_DIR: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_Chain = tuple[tuple[int, IgnoreFile], ...]
"""Rules that apply, nearest first, each with the length of its directory's path."""


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until the input ends."""
    first = read_frame(source)
    if first is None:
        return
    try:
        required = RequiredTexts(tuple(first.fields.pop("required")), first.fields["ignore_case"])
        with _limited(first.fields.pop("left")):
            expression = LineMatcher.compiled(**first.fields)
    except NO_PATTERN as error:
        sink.write(pack({"invalid": str(error)}))
        return
    sink.write(pack({}))
    sink.flush()
    while (frame := read_frame(source)) is not None:
        for answer in _answers(expression, required, frame):
            sink.write(pack(answer))
            sink.flush()


def _answers(expression: LineMatcher, required: RequiredTexts, frame: Frame) -> Iterator[dict[str, Any]]:
    if "directory" in frame.fields:
        may_match = _matches_in(expression) if frame.fields.pop("cheap") else required.all_in
        yield from _Walk(may_match, **frame.fields).answers()
        return
    text, started = frame.payload.decode(), time.process_time()
    with _limited(frame.fields["left"]):
        hits = expression.hits_in(text, frame.fields["limit"])
    yield {"hits": hits, "spent": time.process_time() - started}


def _matches_in(expression: LineMatcher) -> Callable[[str], bool]:
    return lambda text: bool(expression.hits_in(text, 1))


@contextmanager
def _limited(seconds: float) -> Generator[None]:
    """End this process when what is done in here takes more processor time."""
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class _Walk:
    """Which files of a directory on this machine have to be looked at: what may match, and what is no text.

    A first sieve only: what it lets through is read again through the workspace's filesystem, so nothing that it saw
    can get out. ``ignored`` are the paths that rules leave out, and ``troubled`` says that something could not be read.
    """

    def __init__(
        self, may_match: Callable[[str], bool], *, directory: str, hidden: bool, left: float, share: int, shares: int
    ) -> None:
        self._may_match = may_match
        self._directory = directory
        self._hidden = hidden
        self._left = left
        self._share = share
        self._shares = shares
        self._found: list[str] = []
        self._ignored: list[str] = []
        self._looked_at = 0

    def answers(self) -> Iterator[dict[str, Any]]:
        """Some of what was found, again and again; the last one is ``done``."""
        steps, spent, is_over = self._walk(), 0.0, False
        try:
            while not is_over:
                started = time.process_time()
                with _limited(self._left - spent + _AT_ONCE * _OTHER_WORK):
                    is_over = sum(1 for _ in islice(steps, _AT_ONCE)) < _AT_ONCE
                spent += max(0.0, time.process_time() - started - _AT_ONCE * _OTHER_WORK)
                told = {"found": self._found, "ignored": self._ignored}
                self._found, self._ignored = [], []
                yield {**told, "spent": spent, **({"done": True} if is_over else {})}
        except OSError:
            yield {"troubled": True}

    def _walk(self) -> Iterator[None]:
        """Look at every file of this share; a step is a directory or a file."""
        top = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        pending: list[tuple[int, str, _Chain]] = [(top, "", ())]
        try:
            while pending:
                handle, prefix, above = pending.pop()
                try:
                    chain = self._with_own_rules(handle, prefix, above)
                    for name, is_dir in self._entries(handle, prefix, chain):
                        if is_dir:
                            pending.append((os.open(name, _OPEN_DIR, dir_fd=handle), f"{prefix}{name}/", chain))
                        elif self._is_own(name):
                            self._look(handle, name, prefix)
                            yield
                    yield
                finally:
                    os.close(handle)
        finally:
            for handle, _, _ in pending:
                os.close(handle)

    def _with_own_rules(self, handle: int, prefix: str, chain: _Chain) -> _Chain:
        try:
            rules = os.open(GITIGNORE, _OPEN_FILE, dir_fd=handle)
        except FileNotFoundError:
            return chain
        try:
            own = IgnoreFile.parse(os.read(rules, LARGEST))
        finally:
            os.close(rules)
        return ((len(prefix), own), *chain) if own else chain

    def _entries(self, handle: int, prefix: str, chain: _Chain) -> Iterator[tuple[str, bool]]:
        with os.scandir(handle) as entries:
            for entry in entries:
                name = entry.name
                if name == REPOSITORY or (name.startswith(".") and not self._hidden):
                    continue
                is_dir = entry.is_dir(follow_symlinks=False)
                if not is_dir and not entry.is_file(follow_symlinks=False):
                    continue
                if not chain or not _ignored(chain, prefix + name, is_dir=is_dir):
                    yield name, is_dir
                elif self._is_own(name):
                    self._ignored.append(prefix + name)

    def _is_own(self, name: str) -> bool:
        return crc32(os.fsencode(name)) % self._shares == self._share

    def _look(self, handle: int, name: str, prefix: str) -> None:
        try:
            descriptor = os.open(name, _OPEN_FILE, dir_fd=handle)
        except FileNotFoundError:
            return
        except OSError:
            self._found.append(prefix + name)
            return
        try:
            data = os.read(descriptor, _READ_FIRST)
            if len(data) == _READ_FIRST:
                data += os.read(descriptor, _LARGEST_READ - _READ_FIRST)
        except OSError:
            data = b"\0"
        finally:
            os.close(descriptor)
        if self._is_to_be_looked_at(data):
            self._found.append(prefix + name)

    def _is_to_be_looked_at(self, data: bytes) -> bool:
        if len(data) == _LARGEST_READ or b"\0" in data or data.startswith(BOM_UTF8):
            return True
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return True
        return self._may_match(text)


def _ignored(chain: _Chain, path: str, *, is_dir: bool) -> bool:
    try:
        decisions = (rules.decide(path[start:], is_dir=is_dir) for start, rules in chain)
        return next((decided for decided in decisions if decided is not None), False)
    except UnicodeEncodeError:  # no path can express it, and so nothing will be read of it
        return True


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
