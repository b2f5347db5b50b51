"""What `import moorage` costs over what it cannot do without."""

from __future__ import annotations

import os
import sys
from typing import Final

import anyio
from scripts.benches.rows import Aim, Row, Sample, Setting, medians

_PROGRAM: Final = "import time; started = time.process_time(); {}; print(time.process_time() - started)"
_THEIRS: Final = "import anyio, pluggy"


async def measure(setting: Setting) -> None:
    """With compiled modules, as installed software has them, whatever the environment says of writing them."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(setting.directory)
    statements = ("import moorage", "from moorage import CompositeFilesystem", _THEIRS)
    samples = [_run(statement, environment) for statement in statements]
    await medians(samples, 1)
    module, name, theirs = await medians(samples, setting.size(41, 1))
    setting.emit(Row(f"{statements[0]} over {_THEIRS}, CPU time", module, theirs, "ms", Aim("ratio", "≤", 1.3)))
    setting.emit(Row(f"{statements[1]} over {_THEIRS}", name, theirs, "ms"))


def _run(statement: str, environment: dict[str, str]) -> Sample:
    async def once(_: int) -> float:
        done = await anyio.run_process([sys.executable, "-c", _PROGRAM.format(statement)], env=environment, stderr=None)
        return float(done.stdout) * 1000

    return once
