"""Globs as a model writes them, within bounds: what they expand to is compiled and held against every name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anyio import to_thread

from moorage import Glob
from moorage_workspace.errors import ToolRefusedError

MOST_PARTS: Final = 64
MOST_CHARACTERS: Final = 4_096
_MOST_EXPANDED: Final = 64 * 1024


def check_length(name: str, text: str) -> None:
    """Refuse an argument that is too long.

    Raises:
        ToolRefusedError: it has more than :data:`MOST_CHARACTERS` characters.
    """
    if len(text) > MOST_CHARACTERS:
        raise ToolRefusedError(f"{name} has more than {MOST_CHARACTERS:,} characters; shorten it")


def check_parts(name: str, parts: Sequence[str]) -> None:
    """Refuse an argument of too many parts.

    Raises:
        ToolRefusedError: there are more than :data:`MOST_PARTS`.
    """
    if len(parts) > MOST_PARTS:
        raise ToolRefusedError(f"{name} has more than {MOST_PARTS} parts; use fewer")


async def globs(name: str, patterns: Sequence[str]) -> tuple[Glob, ...]:
    """The globs that the argument ``name`` holds, compiled where nothing else has to wait for it.

    Raises:
        ToolRefusedError: too many, too long, or too much once their braces are expanded.
        InvalidArgumentError, InvalidPathError: one is no glob.
    """
    check_parts(name, patterns)
    for pattern in patterns:
        check_length(name, pattern)
    return await to_thread.run_sync(_compiled, name, patterns) if patterns else ()


def _compiled(name: str, patterns: Sequence[str]) -> tuple[Glob, ...]:
    left = _MOST_EXPANDED
    for pattern in patterns:
        left -= Glob.expanded_size(pattern)
        if left < 0:
            raise ToolRefusedError(f"{name} has too many alternatives in braces; use fewer or shorter ones")
    return tuple(map(Glob, patterns))
