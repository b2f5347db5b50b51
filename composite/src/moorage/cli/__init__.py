"""The command line: ``moorage ls /data``. Needs the extra ``cli`` (typer and rich).

Exit codes: 0 done, 1 failed, 2 wrong usage, path or configuration, 3 stale, 4 read-only, 5 not found, 130 interrupted,
141 when the reader of a pipe went away.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from moorage.registry import Registry

__all__ = ["main"]

_EXTRA: Final = ("rich", "typer")


def main(arguments: Sequence[str] | None = None, *, registry: Registry | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        from moorage.cli.command_line import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        print('moorage: the command line needs its extra: pip install "moorage-core[cli]"', file=sys.stderr)
        return 1
    return run(list(sys.argv[1:] if arguments is None else arguments), registry)
