"""Random sequences of operations, compared with a dict after every step."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeVar

import anyio.from_thread
import anyio.to_thread
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from moorage import Capabilities, Entry, Filesystem, Kind, MoorageError
from moorage.testing.harness import Harness
from moorage.testing.suite.model import Refusals, TreeModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pick:
    """A place in the tree: the ``index``-th thing that is there, or ``path`` without one or with one below 0."""

    path: str
    index: int | None


anywhere = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)
paths = st.builds(Pick, anywhere, st.none() | st.integers(0, 30))
present = st.builds(Pick, anywhere, st.integers(-3, 30))
contents = st.sampled_from([b"", b"one", b"two", b"\r\n\xff", b"long" * 5_000])
expectations = st.sampled_from(["none", "none", "none", "current", "older", "invented"])
flags = st.booleans()
mostly = st.sampled_from([True, True, True, False])


class TreeMachine(RuleBasedStateMachine):
    """Runs in a worker thread and calls the event loop for every operation."""

    def __init__(self, fs: Filesystem, top: str, can: Capabilities) -> None:
        super().__init__()
        self.fs = fs
        self.top = top
        conditional = can.conditional_write != "none"
        self.model = TreeModel(top, real_directories=can.real_directories, conditional=conditional)
        self.versions: dict[str, str] = {}
        self.run(lambda: fs.make_dir(top))
        for path in ("a/b", "a/c/a", "b/a", "c"):
            self.run(partial(fs.write_bytes, f"{top}/{path}", b"first"))
            self.model.put(f"{top}/{path}", b"first")

    @rule(path=paths, data=contents, overwrite=mostly, create_parents=mostly, expectation=expectations)
    def write(self, path: Pick, data: bytes, overwrite: bool, create_parents: bool, expectation: str) -> None:
        place = self.at(path)
        fresh, expected = self.expect(place, expectation)
        due = self.model.refuse_write(place, overwrite=overwrite, create_parents=create_parents, fresh=fresh)
        if self.holds(
            due,
            lambda: self.fs.write_bytes(place, data, overwrite=overwrite, create_parents=create_parents, **expected),
        ):
            self.model.put(place, data)

    @rule(path=present, data=contents, expectation=expectations)
    def append(self, path: Pick, data: bytes, expectation: str) -> None:
        place = self.at(path)
        fresh, expected = self.expect(place, expectation)
        due = self.model.refuse_write(place, overwrite=True, create_parents=True, fresh=fresh)
        if self.holds(due, lambda: self.fs.append_bytes(place, data, **expected)):
            self.model.put(place, self.model.files.get(place, b"") + data)

    @rule(path=present, missing_ok=flags, expectation=expectations)
    def delete(self, path: Pick, missing_ok: bool, expectation: str) -> None:
        place = self.at(path)
        fresh, expected = self.expect(place, expectation)
        due = self.model.refuse_delete(place, missing_ok=missing_ok, fresh=fresh)
        if self.holds(due, lambda: self.fs.delete(place, missing_ok=missing_ok, **expected)):
            self.model.remove(place)

    @rule(src=present, dst=paths, overwrite=mostly, recursive=flags)
    def copy(self, src: Pick, dst: Pick, overwrite: bool, recursive: bool) -> None:
        one, two = self.at(src), self.at(dst)
        if self.merges(one, two):
            return
        due = self.model.refuse_transfer(one, two, overwrite=overwrite, recursive=recursive)
        if self.holds(due, lambda: self.fs.copy(one, two, overwrite=overwrite, recursive=recursive)):
            self.model.transfer(one, two, keep=True)

    @rule(src=present, dst=paths, overwrite=mostly)
    def move(self, src: Pick, dst: Pick, overwrite: bool) -> None:
        one, two = self.at(src), self.at(dst)
        if self.merges(one, two):
            return
        due = self.model.refuse_transfer(one, two, overwrite=overwrite, recursive=True)
        if self.holds(due, lambda: self.fs.move(one, two, overwrite=overwrite)):
            self.model.transfer(one, two, keep=False)

    @rule(path=paths, parents=mostly, exist_ok=flags)
    def make_dir(self, path: Pick, parents: bool, exist_ok: bool) -> None:
        place = self.at(path)
        due = self.model.refuse_make_dir(place, parents=parents, exist_ok=exist_ok)
        if self.holds(due, lambda: self.fs.make_dir(place, parents=parents, exist_ok=exist_ok)):
            self.model.make_dir(place)

    @rule(path=present, recursive=flags, missing_ok=flags)
    def remove_dir(self, path: Pick, recursive: bool, missing_ok: bool) -> None:
        place = self.at(path)
        due = self.model.refuse_remove_dir(place, recursive=recursive, missing_ok=missing_ok)
        if self.holds(due, lambda: self.fs.remove_dir(place, recursive=recursive, missing_ok=missing_ok)):
            self.model.remove(place)

    @rule(path=present, start=st.integers(0, 6), end=st.none() | st.integers(0, 9))
    def read(self, path: Pick, start: int, end: int | None) -> None:
        place = self.at(path)
        due = self.model.refuse_read(place)
        for data in self.holds(due, lambda: self.fs.read_bytes(place, start, end)):
            assert data == self.model.files[place][start:end]

    @rule(path=present, recursive=flags)
    def list_dir(self, path: Pick, recursive: bool) -> None:
        place = self.at(path)
        due = self.model.refuse_list(place)
        for entries in self.holds(due, lambda: self.fs.list_dir(place, recursive=recursive)):
            wanted = self.model.below(place) if recursive else self.model.children(place)
            assert _shown(entries) == [_line(other, data) for other, data in _sorted(wanted)]

    @rule(path=paths)
    def ask(self, path: Pick) -> None:
        place = self.at(path)
        assert self.run(lambda: self.fs.exists(place)) == self.model.exists(place)
        assert self.run(lambda: self.fs.is_file(place)) == (place in self.model.files)
        assert self.run(lambda: self.fs.is_dir(place)) == self.model.is_dir(place)

    def teardown(self) -> None:
        """The whole tree and every byte, then away with it."""
        entries = self.run(lambda: self.fs.list_dir(self.top, recursive=True))
        assert _shown(entries) == [_line(path, data) for path, data in _sorted(self.model.below(self.top))]
        for path, data in self.model.files.items():
            assert self.run(partial(self.fs.read_bytes, path)) == data
        self.run(lambda: self.fs.remove_dir(self.top, recursive=True))

    def at(self, pick: Pick) -> str:
        there = sorted(self.model.below(self.top))
        if pick.index is None or pick.index < 0 or not there:
            return f"{self.top}/{pick.path}"
        return there[pick.index % len(there)]

    def merges(self, src: str, dst: str) -> bool:
        """A tree into a directory that is there: a topic of its own."""
        return self.model.is_dir(src) and self.model.is_dir(dst) and src != dst and not dst.startswith(f"{src}/")

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        async def invoke() -> T:
            return await call()

        return anyio.from_thread.run(invoke)

    def holds(self, due: Refusals, call: Callable[[], Awaitable[T]]) -> list[T]:
        """The result as a list of one, or an empty list if the call was refused as it had to be."""
        try:
            result = self.run(call)
        except MoorageError as error:
            allowed = sorted(kind.__name__ for kind in due) or "success"
            assert type(error) in due, f"{allowed} was due, not {error!r}"
            return []
        assert not due, f"{sorted(kind.__name__ for kind in due)} was due, but it succeeded: {result!r}"
        return [result]

    @invariant()
    def settle(self) -> None:
        """Ask the store for the directories that it may keep or drop."""
        for path in self.model.doubtful():
            if self.run(partial(self.fs.exists, path)):
                self.model.made.add(path)

    def expect(self, place: str, expectation: str) -> tuple[bool | None, dict[str, Any]]:
        """Whether the expectation holds, and the arguments that state it."""
        if expectation == "none":
            return None, {}
        current = self.run(lambda: self.fs.stat(place)).version if place in self.model.files else None
        older = self.versions.get(place)
        if current is not None:
            self.versions[place] = current
        chosen = {"current": current, "older": older}.get(expectation) or "invented"
        return chosen == current, {"expected_version": chosen}


class StateMachine(Harness):
    async def test_any_sequence_of_operations_agrees_with_a_dict(
        self, fs: Filesystem, can: Capabilities, slow: bool
    ) -> None:
        numbers: Iterator[int] = count()
        chosen = settings(
            max_examples=self.examples * (20 if slow else 1),
            stateful_step_count=self.steps,
            deadline=None,
            database=None,
            derandomize=not slow,
            phases=(Phase.generate, Phase.shrink) if self.shrinks else (Phase.generate,),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        )

        class Machine(TreeMachine):
            def __init__(self) -> None:
                super().__init__(fs, f"/run-{next(numbers)}", can)

        await anyio.to_thread.run_sync(lambda: run_state_machine_as_test(Machine, settings=chosen))
        assert await self.names() == set()


def _sorted(tree: dict[str, bytes | None]) -> list[tuple[str, bytes | None]]:
    return sorted(tree.items(), key=lambda item: item[0].split("/"))


def _line(path: str, data: bytes | None) -> tuple[str, Kind, int]:
    return (path, Kind.DIRECTORY, 0) if data is None else (path, Kind.FILE, len(data))


def _shown(entries: list[Entry]) -> list[tuple[str, Kind, int]]:
    return [(str(entry.path), entry.kind, entry.stat.size) for entry in entries]
