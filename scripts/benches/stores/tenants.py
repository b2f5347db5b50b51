"""What one more tenant costs: a client with credentials and connections of its own that has written once.

``python -m scripts.benches.stores.tenants KIND NAME PLACE`` measures one contender in a process of its own.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

import anyio
from scripts.benches.memory import resident
from scripts.benches.rows import Aim, Row, Setting
from scripts.benches.stores import gcs_contenders, s3_contenders
from scripts.benches.stores.works import Place

OPENERS: Final = {"s3": s3_contenders.OPENERS, "gcs": gcs_contenders.OPENERS}
_ROOT: Final = Path(__file__).parents[3]
_FIRST: Final = 3
_MEMORY: Final = Aim("ours", "<", 204.8)
_TIME: Final = Aim("ours", "<", 10)


async def measure(setting: Setting, kind: str, names: Sequence[str], place: Place) -> None:
    """Rows for ours over each of ``names``."""
    count = setting.size(30, 2)
    (memory, took), *others = [await _measured(kind, name, place, count) for name in ("ours", *names)]
    for name, (their_memory, their_time) in zip(names, others, strict=True):
        setting.emit(Row(f"a further tenant's memory over {name}", memory, their_memory, "KiB", _MEMORY))
        setting.emit(Row(f"a further tenant opened, first write, over {name}", took, their_time, "ms", _TIME))


async def _measured(kind: str, name: str, place: Place, count: int) -> tuple[float, float]:
    """KiB and milliseconds of one tenant."""
    arguments = [kind, name, json.dumps(asdict(place)), str(count)]
    command = [sys.executable, "-m", "scripts.benches.stores.tenants", *arguments]
    done = await anyio.run_process(command, cwd=_ROOT, stderr=None)
    memory, took = json.loads(done.stdout)
    return memory, took


async def _main(kind: str, name: str, place: Place, count: int) -> None:
    opener = OPENERS[kind][name]
    async with AsyncExitStack() as stack:

        async def add(number: int) -> None:
            calls = await stack.enter_async_context(opener(place))
            await calls.put(f"tenants/{name.replace(' ', '')}/{number}", b"x")

        for number in range(_FIRST):
            await add(number)
        gc.collect()
        before, started = resident(), time.perf_counter()
        for number in range(count):
            await add(_FIRST + number)
        took = time.perf_counter() - started
        gc.collect()
        with suppress(BrokenPipeError):  # whoever asked was interrupted
            print(json.dumps([max(0, resident() - before) / 1024 / count, took * 1000 / count]), flush=True)


if __name__ == "__main__":
    anyio.run(_main, sys.argv[1], sys.argv[2], Place(**json.loads(sys.argv[3])), int(sys.argv[4]))
