"""Nothing leaves the root, whatever the links in it are, and whoever swaps them meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage import Filesystem, MoorageError
from moorage_local import LocalFilesystem

SECRET = b"secret"
TIME_LIMIT = 120.0
OPERATIONS: dict[str, Callable[[Filesystem, str], Awaitable[object]]] = {
    "stat": lambda fs, path: fs.stat(path),
    "read": lambda fs, path: fs.read_bytes(path),
    "list": lambda fs, path: fs.list_dir(path, recursive=True),
    "write": lambda fs, path: fs.write_bytes(path, b"ours"),
    "create": lambda fs, path: fs.write_bytes(path, b"ours", overwrite=False),
    "append": lambda fs, path: fs.append_bytes(path, b"ours"),
    "make_dir": lambda fs, path: fs.make_dir(path),
    "delete": lambda fs, path: fs.delete(path),
    "remove_dir": lambda fs, path: fs.remove_dir(path, recursive=True),
    "copy_from": lambda fs, path: fs.copy(path, "/taken", recursive=True),
    "copy_to": lambda fs, path: fs.copy("/source", path),
    "move_from": lambda fs, path: fs.move(path, "/taken"),
    "move_to": lambda fs, path: fs.move("/source", path),
}


def everything(directory: Path) -> dict[str, bytes | None]:
    """Every name below ``directory`` with its content."""
    found: dict[str, bytes | None] = {}
    for path in sorted(directory.rglob("*")):
        found[str(path.relative_to(directory))] = path.read_bytes() if path.is_file() else None
    return found


def assert_harmless(result: object) -> None:
    assert "secret" not in repr(result)


names = st.sampled_from(["a", "b", "c", "file", "below", "taken"])
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
targets = st.one_of(
    paths,
    st.lists(st.sampled_from(["..", ".", "a", "b", "below", "file"]), min_size=1, max_size=6).map("/".join),
    st.sampled_from(["{outside}", "{outside}/file", "{outside}/below", "{root}", "{root}/a", "{root}/../outside/file"]),
    st.sampled_from(["/", "/etc/passwd", "/proc/self/root", "/proc/self/cwd", "/dev/null", "../root/../outside"]),
)
layouts = st.lists(st.tuples(paths, st.one_of(st.none(), st.just("dir"), targets)), max_size=8)
programs = st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), paths), min_size=1, max_size=8)


def build(root: Path, outside: Path, layout: list[tuple[str, str | None]]) -> None:
    for path, what in layout:
        at = root / path
        with contextlib.suppress(OSError, RuntimeError):
            if not at.parent.resolve().is_relative_to(root):
                continue
            at.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(at):
                continue
            if what is None:
                at.write_bytes(b"inside")
            elif what == "dir":
                at.mkdir()
            else:
                at.symlink_to(what.format(root=root, outside=outside))


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(layout=layouts, program=programs)
def test_no_layout_of_links_leads_out(
    tmp_path_factory: pytest.TempPathFactory,
    road: str,
    layout: list[tuple[str, str | None]],
    program: list[tuple[str, str]],
) -> None:
    top = tmp_path_factory.mktemp("fuzz").resolve()
    root, outside = top / "root", top / "outside"
    (outside / "below").mkdir(parents=True)
    root.mkdir()
    (outside / "file").write_bytes(SECRET)
    (outside / "secret-name").write_bytes(b"")
    (root / "source").write_bytes(b"source")
    build(root, outside, layout)

    async def main() -> None:
        async with LocalFilesystem(root) as fs:
            for operation, path in program:
                with contextlib.suppress(MoorageError):
                    assert_harmless(await OPERATIONS[operation](fs, path))

    anyio.run(main)
    assert everything(outside) == {"below": None, "file": SECRET, "secret-name": b""}
    assert sorted(path.name for path in top.iterdir()) == ["outside", "root"]
    for path in root.rglob("*"):
        assert path.is_symlink() or not path.is_file() or path.read_bytes() != SECRET


class Swapping:
    """A thread that swaps the directory ``d`` for a link to ``outside`` and back; parked inside the root meanwhile."""

    def __init__(self, root: Path, outside: Path, times: int) -> None:
        self._root = root
        self._outside = outside
        self._times = times
        self.is_over = False
        self.swaps = 0

    def run(self) -> None:
        done = 0
        try:
            end = time.monotonic() + TIME_LIMIT
            while done < self._times and time.monotonic() < end:
                with contextlib.suppress(OSError):
                    self._swap()
                    done += 1
        finally:
            self.swaps = done
            self.is_over = True

    def _swap(self) -> None:
        directory, parked = self._root / "d", self._root / "parked"
        with contextlib.suppress(OSError):
            parked.unlink()
        shutil.rmtree(parked, ignore_errors=True)
        with contextlib.suppress(OSError):
            directory.mkdir()
            (directory / "file").write_bytes(b"inside")
        directory.rename(parked)
        directory.symlink_to(self._outside)
        directory.unlink()
        parked.rename(directory)

    @contextlib.contextmanager
    def running(self) -> Generator[None]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            thread.join(300)


@pytest.mark.anyio
@pytest.mark.parametrize("times", [400, pytest.param(10_000, marks=pytest.mark.slow)])
async def test_a_directory_swapped_for_a_link_leads_nowhere(root: Path, outside: Path, road: str, times: int) -> None:
    (root / "source").write_bytes(b"source")
    before = everything(outside)
    chance = random.Random(times)
    swapping = Swapping(root, outside, times)
    done = 0
    async with LocalFilesystem(root) as fs:
        with swapping.running():
            while not swapping.is_over:
                operation = chance.choice(sorted(OPERATIONS))
                path = chance.choice(["/d/file", "/d/new", "/d/below", "/d", "/d/below/deep"])
                with contextlib.suppress(MoorageError):
                    assert_harmless(await OPERATIONS[operation](fs, path))
                    done += 1
                if not os.path.lexists(root / "source"):
                    (root / "source").write_bytes(b"source")
        assert everything(outside) == before
        await fs.write_bytes("/alive", b"")
    assert swapping.swaps == times
    assert done > 10
    for found in root.rglob("*"):
        assert found.is_symlink() or not found.is_file() or found.read_bytes() != SECRET
