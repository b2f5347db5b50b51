"""Everything that is measured on one store: each work by every contender in turn, ours with and without name checks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scripts.benches.rows import Aim, Row, Sample, Setting, Unit, medians
from scripts.benches.stores.works import Contender, Cost, Operation, Work

Aims = Mapping[tuple[Operation, str], Aim]
"""Of the ratio of the rates at 32 at once and of lists, by operation and contender."""

_SMALL: Final[tuple[Operation, ...]] = ("put", "get", "head")
_CPU: Final = Aim("ours", "≤", 0.8)
_MIB: Final = 1 << 20
_AT_ONCE: Final = 32


class WrongResultError(Exception):
    """A contender did not do its work."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One store's field: ours without and with name checks first, then the others."""

    setting: Setting
    field: Sequence[Contender]
    aims: Aims

    async def run(self) -> None:
        for concurrency in (1, _AT_ONCE):
            for operation in _SMALL:
                await self._small(operation, concurrency)
        await self._large()
        await self._list()
        await self._delete()
        await self._copy()

    async def _small(self, operation: Operation, concurrency: int) -> None:
        """New names for each put; gets and heads are of what was put first."""
        count = self.setting.size(80 if concurrency == 1 else 320, 4)
        there = tuple(f"small/{number}.txt" for number in range(count))
        await self._do(self.field[0], Work("put", there, _AT_ONCE), count)

        def work(contender: Contender, repetition: int) -> Work:
            fresh = f"put-{concurrency}/{self.field.index(contender)}/{repetition}"
            keys = tuple(f"{fresh}/{number}.txt" for number in range(count)) if operation == "put" else there
            return Work(operation, keys, concurrency)

        expected = count if operation == "put" else count * 1024
        costs = await self._compete(work, expected, self.setting.size(5, 1))
        label = f"{operation.upper()} 1 KiB ×{concurrency}"
        is_aimed = concurrency == _AT_ONCE
        self._emit(label, [count / cost.seconds for cost in costs], "/s", operation if is_aimed else None)
        if is_aimed:
            self._emit_cpu(label, [cost.cpu / count * 1000 for cost in costs])

    async def _large(self) -> None:
        size = self.setting.size(64 * _MIB, _MIB)
        ways: tuple[tuple[Operation, str], ...] = (("put", "up"), ("get", "down"))
        for operation, word in ways:
            expected = 1 if operation == "put" else size

            def work(contender: Contender, _: int, operation: Operation = operation) -> Work:
                return Work(operation, (f"large/{self.field.index(contender)}.bin",), size=size)

            costs = await self._compete(work, expected, self.setting.size(5, 1))
            self._emit(f"{size // _MIB} MiB {word}", [size / _MIB / cost.seconds for cost in costs], "MiB/s")

    async def _list(self) -> None:
        count = self.setting.size(10_000, 20)
        await self._plant("listed", count)
        costs = await self._compete(lambda _, __: Work("list", ("listed",)), count, self.setting.size(3, 1))
        self._emit(f"list {count:,}", [count / cost.seconds for cost in costs], "/s", "list")

    async def _delete(self) -> None:
        """Once: what is deleted has to be put there again for each."""
        count = self.setting.size(5_000, 20)
        costs: list[Cost] = []
        for contender in self.field:
            await self._plant("deleted", count)
            costs.append(await contender.do(Work("delete", ("deleted",))))
            await self._check_count("deleted", 0, contender)
        self._emit(f"delete {count:,}", [count / cost.seconds for cost in costs], "/s")

    async def _copy(self) -> None:
        count = self.setting.size(500, 10)
        await self._plant("tree", count)

        def work(contender: Contender, repetition: int) -> Work:
            return Work("copy", ("tree", f"copies/{self.field.index(contender)}-{repetition}"))

        repetitions = self.setting.size(3, 1)
        costs = await self._compete(work, 0, repetitions, warm_up=False)
        for contender in self.field:
            for repetition in range(repetitions):
                await self._check_count(work(contender, repetition).keys[1], count, contender)
        self._emit(f"copy a tree of {count:,}", [count / cost.seconds for cost in costs], "/s")

    async def _plant(self, prefix: str, count: int) -> None:
        """A tree of small objects, 50 a directory."""
        keys = tuple(f"{prefix}/d{number // 50}/f{number}.txt" for number in range(count))
        await self._do(self.field[0], Work("put", keys, _AT_ONCE, size=64), count)

    async def _check_count(self, prefix: str, count: int, contender: Contender) -> None:
        found = 0
        try:
            found = (await self.field[0].do(Work("list", (prefix,)))).found
        except* FileNotFoundError:
            pass
        if found != count:
            raise WrongResultError(f"{contender.name} left {found} objects where {count} are wanted")

    async def _compete(
        self, work: Callable[[Contender, int], Work], expected: int, repetitions: int, *, warm_up: bool = True
    ) -> list[Cost]:
        """The median costs of each; unless told otherwise a first time is not counted."""
        for contender in self.field if warm_up else ():
            await self._do(contender, work(contender, repetitions), expected)
        spent: dict[str, list[float]] = {contender.name: [] for contender in self.field}

        def sample(contender: Contender) -> Sample:
            async def once(repetition: int) -> float:
                cost = await self._do(contender, work(contender, repetition), expected)
                spent[contender.name].append(cost.cpu)
                return cost.seconds

            return once

        seconds = await medians([sample(contender) for contender in self.field], repetitions)
        cpu = [statistics.median(spent[contender.name]) for contender in self.field]
        return [Cost(each, used, expected) for each, used in zip(seconds, cpu, strict=True)]

    async def _do(self, contender: Contender, work: Work, expected: int) -> Cost:
        cost = await contender.do(work)
        if cost.found != expected:
            raise WrongResultError(f"{contender.name}: {work.operation} found {cost.found}, {expected} are wanted")
        return cost

    def _emit(self, label: str, values: Sequence[float], unit: Unit, aimed: Operation | None = None) -> None:
        ours, checked, *others = values
        for contender, theirs in zip(self.field[2:], others, strict=True):
            aim = None if aimed is None else self.aims.get((aimed, contender.name))
            self.setting.emit(Row(f"{label} over {contender.name}", ours, theirs, unit, aim))
            self.setting.emit(Row(f"{label}, names checked, over {contender.name}", checked, theirs, unit))

    def _emit_cpu(self, label: str, values: Sequence[float]) -> None:
        ours, checked, *others = values
        for contender, theirs in zip(self.field[2:], others, strict=True):
            what = f"{label}: CPU a request"
            self.setting.emit(Row(f"{what} over {contender.name}", ours, theirs, "ms", _CPU))
            self.setting.emit(Row(f"{what}, names checked, over {contender.name}", checked, theirs, "ms"))
