"""Every method of a filesystem that takes a path, ready to be called with one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from moorage import Filesystem
from moorage.testing.bodies import Chunks
from moorage.testing.iterating import collect

Call = Callable[[], Awaitable[object]]


def reading_calls(fs: Filesystem, path: str) -> dict[str, Call]:
    """What changes nothing."""

    async def open_read() -> None:
        async with fs.open_read(path):
            pass

    return {
        "stat": lambda: fs.stat(path),
        "exists": lambda: fs.exists(path),
        "is_file": lambda: fs.is_file(path),
        "is_dir": lambda: fs.is_dir(path),
        "read_bytes": lambda: fs.read_bytes(path),
        "read_text": lambda: fs.read_text(path),
        "open_read": open_read,
        "list_dir": lambda: fs.list_dir(path),
        "scan_dir": lambda: collect(fs.scan_dir(path)),
        "walk": lambda: collect(fs.walk(path)),
        "du": lambda: fs.du(path),
    }


def mutating_calls(fs: Filesystem, path: str) -> dict[str, Call]:
    """What changes ``path``, or, for a copy or a move, puts something there or takes it away."""
    return {
        "write_bytes": lambda: fs.write_bytes(path, b"new"),
        "write_text": lambda: fs.write_text(path, "new"),
        "write_stream": lambda: fs.write_stream(path, Chunks([b"new"])),
        "append_bytes": lambda: fs.append_bytes(path, b"new"),
        "append_text": lambda: fs.append_text(path, "new"),
        "delete": lambda: fs.delete(path),
        "copy": lambda: fs.copy("/source-of-copy", path),
        "move": lambda: fs.move("/source-of-move", path),
        "move away": lambda: fs.move(path, "/target-of-move"),
        "make_dir": lambda: fs.make_dir(path),
        "remove_dir": lambda: fs.remove_dir(path, recursive=True),
    }
