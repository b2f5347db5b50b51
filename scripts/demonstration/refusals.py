"""What the tree refuses: stale writes, changes of what is read-only, and every way out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable
from typing import Final

import anyio
from scripts.demonstration.disk import snapshot
from scripts.demonstration.stage import SECRET, Stage

from moorage import Filesystem, InvalidPathError, MoorageError, PathEscapeError, ReadOnlyError, StaleFileError

ROUNDS: Final = 25
ONE_WON: Final = "one won, one was stale"


async def two_writers(stage: Stage) -> None:
    """Two writers who both read the same version write at once, on disk and in memory, again and again."""
    for path in ("/disk/plan.md", "/memory/plan.md"):
        outcomes: Counter[str] = Counter()
        for _ in range(ROUNDS):
            outcomes[await race(stage.tree, path)] += 1
        said = ", ".join(f"{outcome} ({count} rounds)" for outcome, count in outcomes.items())
        stage.report.claim(f"of two writers one wins ({path})", said, outcomes == {ONE_WON: ROUNDS})


async def race(tree: Filesystem, path: str) -> str:
    """Two writers with one expectation, once: what came of it."""
    seen = await tree.write_text(path, "draft")
    results: dict[str, str] = {}

    async def write(name: str) -> None:
        try:
            await tree.write_text(path, f"by {name}", expected_version=seen.version or "")
            results[name] = "won"
        except StaleFileError:
            results[name] = "stale"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, "Ann")
        tasks.start_soon(write, "Ben")
    winners = [name for name, result in results.items() if result == "won"]
    if len(winners) == 1 and await tree.read_text(path) == f"by {winners[0]}":
        return ONE_WON
    return f"{len(winners)} won"


async def write_to_read_only(stage: Stage) -> None:
    """Every kind of change of the read-only mount, by names that would do no harm if one got through."""
    before = snapshot(stage.source)
    tree, name = stage.tree, "/python/moorage-demo"
    attempts = await refused(
        ReadOnlyError,
        write=tree.write_text(name, "x"),
        append=tree.append_text(name, "x"),
        delete=tree.delete(name),
        copy=tree.copy("/disk/plan.md", name),
        move_in=tree.move("/memory/plan.md", name),
        move_out=tree.move(name, "/disk/moved"),
        make_dir=tree.make_dir(name),
        remove_dir=tree.remove_dir(name),
    )
    stage.report.claim("the read-only mount refuses every change", *attempts)
    same = snapshot(stage.source) == before
    stage.report.claim("and is as it was", f"{len(before):,} names, sizes and times looked at", same)


async def try_to_escape(stage: Stage) -> None:
    """Climb with ``..``, and go through links that lead out."""
    os.symlink(stage.outside, stage.disk / "door")
    os.symlink(stage.outside / "secret.txt", stage.disk / "window")
    tree = stage.tree
    climbed = await refused(
        InvalidPathError,
        read=tree.read_text("/disk/../outside/secret.txt"),
        write=tree.write_text("/disk/../../planted.txt", "x"),
    )
    stage.report.claim("no path climbs out with '..'", *climbed)
    through = await refused(
        PathEscapeError,
        read=tree.read_text("/disk/door/secret.txt"),
        read_link=tree.read_text("/disk/window"),
        write=tree.write_text("/disk/door/planted.txt", "x"),
        write_link=tree.write_text("/disk/window", "x"),
        list=tree.list_dir("/disk/door"),
        make_dir=tree.make_dir("/disk/door/planted"),
    )
    stage.report.claim("no link leads out", *through)
    await tree.delete("/disk/door")
    secret = (stage.outside / "secret.txt").read_text()
    outside = os.listdir(stage.outside)
    stage.report.claim(
        "what is outside was not touched", f"holds {', '.join(outside)}", (outside, secret) == (["secret.txt"], SECRET)
    )


async def refused(kind: type[MoorageError], **attempts: Awaitable[object]) -> tuple[str, bool]:
    """What was measured, and whether every attempt ended in this error."""
    passed: list[str] = []
    for name, attempt in attempts.items():
        try:
            await attempt
            passed.append(f"{name} went through")
        except MoorageError as error:
            if type(error) is not kind:
                passed.append(f"{name}: {type(error).__name__}")
    if passed:
        return "; ".join(passed), False
    return f"{len(attempts)} times {kind.__name__} ({', '.join(attempts)})", True
