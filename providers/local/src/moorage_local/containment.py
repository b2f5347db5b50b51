"""Everything is opened beneath one directory handle: no path leaves the root, whatever links do meanwhile.

First road: the kernel resolves (``openat2``) and refuses every link. When it meets one, or has no such call, the second
road: a walk, one no-follow step at a time, that expands links itself and stays beneath.
"""

from __future__ import annotations

import errno
import os
import stat as posix
from collections import deque
from types import TracebackType
from typing import Final, Self

from moorage import InvalidPathError, LinkLoopError, PathEscapeError, StoragePath
from moorage_local.handles import Handle
from moorage_local.kernel import (
    BENEATH,
    ENTER,
    OPEN_DIR,
    OPEN_FILE,
    SIZE_OF_HOW,
    OpenHow,
    how,
    last_error,
    openat2,
    openat2_works,
)

RESERVED: Final = ".moorage-tmp-"
"""Names that start like this are the provider's own: hidden in listings, refused in paths."""

_RESERVED_SEGMENT: Final = "/" + RESERVED
_MAX_LINKS: Final = 40
_MAX_RESTARTS: Final = 400
_PATH_MAX: Final = 4096
_OPEN_DIR: Final = how(OPEN_DIR & ~os.O_NOFOLLOW, BENEATH)  # with it, a link would be told as "not a directory"
_UNDECIDED: Final = frozenset({errno.ELOOP, errno.EAGAIN, errno.EXDEV, errno.EINTR})
_HERE: Final = b"."


class Place:
    """A name in an open directory: what every operation works on. ``name`` is ``.`` for the directory itself."""

    __slots__ = ("handle", "link", "name", "seen")

    def __init__(self, handle: Handle, name: bytes) -> None:
        self.handle = handle
        self.name = name
        self.seen: os.stat_result | None = None
        """What was there when it was :meth:`looked` at."""
        self.link: os.stat_result | None = None
        """The link that led here from a path, if one did."""

    @property
    def dir(self) -> int:
        return self.handle.fd

    @property
    def is_here(self) -> bool:
        return self.name == _HERE

    def lstat(self) -> os.stat_result | None:
        """The stat of the name itself; ``None`` when nothing is there."""
        try:
            return os.stat(self.name, dir_fd=self.handle.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def looked(self) -> Self:
        """Look at what is there; the place is closed when that fails."""
        try:
            self.seen = self.lstat()
        except BaseException:
            self.close()
            raise
        return self

    def open_file(self) -> Handle:
        return Handle(os.open(self.name, OPEN_FILE, dir_fd=self.handle.fd))

    def open_dir(self) -> Handle:
        return Handle(os.open(self.name, OPEN_DIR, dir_fd=self.handle.fd))

    def close(self) -> None:
        self.handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.handle.close()


def refuse_reserved(path: StoragePath) -> None:
    """Raise InvalidPathError for a path with a name that is the provider's own."""
    if _RESERVED_SEGMENT in str(path):
        raise InvalidPathError(f"names that start with {RESERVED!r} are reserved", path=str(path))


class Root:
    """The directory that nothing leaves. The handle stays the same when its path is renamed or replaced meanwhile."""

    def __init__(self, handle: Handle, real: bytes, alias: bytes, *, durable: bool = False) -> None:
        """``real`` and ``alias`` are the host paths under which absolute links may name the root.

        ``durable``: directories that are made on the way reach the disk.
        """
        self.handle = handle
        self.durable = durable
        self._prefixes = tuple({real.rstrip(b"/") + b"/", alias.rstrip(b"/") + b"/"})
        self._kernel_resolves = openat2_works(openat2, handle.fd, BENEATH)

    def place(self, path: StoragePath) -> Place:
        """Where ``path`` is, its parents resolved; a link at its end is not followed."""
        parent, _, name = path.relative.encode().rpartition(b"/")
        return Place(self._open_dir(parent, path), name or _HERE)

    def followed(self, path: StoragePath) -> Place:
        """Where ``path`` leads: the end of a link chain, existing or not."""
        return self._walk(path, path.relative.encode(), enter_last=False, make=False)

    def made(self, path: StoragePath) -> Place:
        """As ``place``, making the directories that are missing on the way."""
        parent, _, name = path.relative.encode().rpartition(b"/")
        return Place(self._walk(path, parent, enter_last=True, make=True).handle, name or _HERE)

    def made_followed(self, path: StoragePath) -> Place:
        """As ``followed``, making the directories that are missing on the way."""
        return self._walk(path, path.relative.encode(), enter_last=False, make=True)

    def made_dir(self, path: StoragePath) -> None:
        """Make the directory ``path`` and those above it, where they are missing."""
        self._walk(path, path.relative.encode(), enter_last=True, make=True).close()

    def open_dir(self, path: StoragePath) -> Handle:
        """The directory at ``path``, links followed as long as they stay beneath."""
        return self._open_dir(path.relative.encode(), path)

    def _open_dir(self, relative: bytes, path: StoragePath) -> Handle:
        if not relative:
            return Handle(os.open(_HERE, OPEN_DIR, dir_fd=self.handle.fd))
        handle = self.open_unlinked(relative, _OPEN_DIR)
        if handle is not None:
            return handle
        return self._walk(path, relative, enter_last=True, make=False).handle

    def open_unlinked(self, relative: bytes, how_: OpenHow) -> Handle | None:
        """Open what the kernel resolves without meeting a link; ``None`` where the walk has to decide."""
        if not self._kernel_resolves or openat2 is None or len(relative) >= _PATH_MAX:
            return None
        fd = openat2(self.handle.fd, relative or _HERE, how_, SIZE_OF_HOW)
        if fd >= 0:
            return Handle(fd)
        code = last_error()
        if code in _UNDECIDED:
            return None
        raise OSError(code, os.strerror(code))

    def link_target(self, path: StoragePath, place: Place) -> str | None:
        """The target of the link at ``place`` as stored, an absolute one as a path below the root.

        ``None`` when it leads out of the root, at once or through further links.
        """
        try:
            target = os.readlink(place.name, dir_fd=place.dir)
        except OSError:
            return None
        try:
            self.followed(path).close()
        except PathEscapeError:
            return None
        except OSError:  # dangling, looping, unreadable: it stays beneath as far as it goes
            if self._reroot(target) is None:
                return None
        shown = self._reroot(target) or b""
        return shown.decode("utf-8", "backslashreplace")

    def _reroot(self, target: bytes) -> bytes | None:
        """A target as seen from within the root; ``None`` when it is absolute and not below the root."""
        if not target.startswith(b"/"):
            return target
        for prefix in self._prefixes:
            if (target + b"/").startswith(prefix):
                return b"/" + target[len(prefix) :].lstrip(b"/")
        return None

    def _walk(self, path: StoragePath, relative: bytes, *, enter_last: bool, make: bool) -> Place:
        return _Walk(self, path, relative, enter_last=enter_last, make=make).run()

    def leads_through(self, path: StoragePath, entry: os.stat_result) -> bool:
        """Whether following ``path`` passes or ends at ``entry``."""
        walk = _Walk(self, path, path.relative.encode(), enter_last=False, make=False)
        walk.watched = (entry.st_dev, entry.st_ino)
        try:
            with walk.run() as end:
                return walk.passed or _identity(end.lstat()) == walk.watched
        except OSError:
            return walk.passed

    def rerooted(self, target: bytes, path: StoragePath) -> bytes:
        shown = self._reroot(target)
        if shown is None:
            raise PathEscapeError("a link leads out of the root", path=str(path))
        return shown


class _Walk:
    """One resolution, a no-follow step at a time."""

    def __init__(self, root: Root, path: StoragePath, relative: bytes, *, enter_last: bool, make: bool) -> None:
        self._root = root
        self._path = path
        self._enter_last = enter_last
        self._make = make
        self._todo: deque[bytes] = deque(relative.split(b"/"))
        self._done: list[bytes] = []
        self._links = 0
        self._restarts = 0
        self.watched: tuple[int, int] | None = None
        """A link to look out for."""
        self.passed = False
        self._at = self._start()

    def _start(self) -> Handle:
        return Handle(os.open(_HERE, ENTER, dir_fd=self._root.handle.fd))

    def run(self) -> Place:
        try:
            while self._todo:
                name = self._todo.popleft()
                if name in (b"", b"."):
                    continue
                if name == b"..":
                    self._up()
                elif self._todo or self._enter_last:
                    self._enter(name)
                elif (target := self._target(name)) is not None:
                    self._expand(target)
                else:
                    return Place(self._readable(), name)
            return Place(self._readable(), _HERE)
        finally:
            self._at.close()

    def _readable(self) -> Handle:
        return Handle(os.open(_HERE, OPEN_DIR, dir_fd=self._at.fd))

    def _enter(self, name: bytes) -> None:
        try:
            below = Handle(os.open(name, ENTER, dir_fd=self._at.fd))
        except FileNotFoundError:
            if not self._make:
                raise
            self._make_one(name)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            target = self._target(name)
            if target is None:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
            self._expand(target)
        else:
            self._at.close()
            self._at = below
            self._done.append(name)

    def _make_one(self, name: bytes) -> None:
        try:
            os.mkdir(name, dir_fd=self._at.fd)
            if self._root.durable:
                with self._readable() as parent:
                    os.fsync(parent.fd)
        except FileExistsError:
            target = self._target(name)  # a dangling link, or somebody else made it
            if target is not None:
                self._expand(target)
                return
        self._todo.appendleft(name)

    def _target(self, name: bytes) -> bytes | None:
        """The target of the link ``name``; ``None`` when it is no link, or nothing."""
        try:
            target = os.readlink(name, dir_fd=self._at.fd)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise
        if self.watched is not None:
            self.passed |= _identity(Place(self._at, name).lstat()) == self.watched
        return target

    def _expand(self, target: bytes) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise LinkLoopError("following links does not end", path=str(self._path))
        rerooted = self._root.rerooted(target, self._path)
        if _RESERVED_SEGMENT.encode() in b"/" + rerooted:
            raise PathEscapeError("a link leads to a reserved name", path=str(self._path))
        if target.startswith(b"/"):
            self._restart([])
        self._todo.extendleft(reversed(rerooted.split(b"/")))

    def _up(self) -> None:
        """Go to the parent by walking down to it again: ``..`` of a directory that moved may lie outside."""
        if not self._done:
            raise PathEscapeError("a link leads out of the root", path=str(self._path))
        self._restart(self._done[:-1])

    def _restart(self, below: list[bytes]) -> None:
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            raise LinkLoopError("following links takes too many steps", path=str(self._path))
        self._todo.extendleft(reversed(below))
        self._done = []
        self._at.close()
        self._at = self._start()


def _identity(st: os.stat_result | None) -> tuple[int, int] | None:
    return None if st is None else (st.st_dev, st.st_ino)


def is_link(st: os.stat_result | None) -> bool:
    return st is not None and posix.S_ISLNK(st.st_mode)
