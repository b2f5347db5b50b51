"""What to say of a path where nothing is: which names there may be meant."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Final

from moorage import MoorageError, PathNotFoundError, StoragePath
from moorage_workspace.shown_names import ShownNames
from moorage_workspace.text.names import meant
from moorage_workspace.tools.call import ToolCall

_LOOKED_AT: Final = 5_000


async def not_found(call: ToolCall, path: StoragePath, error: PathNotFoundError) -> PathNotFoundError:
    """``error`` with the names that are near as they are shown, and with one that only looks the same spelled out."""
    if type(error) is not PathNotFoundError:
        return error
    try:
        names = await _names(call, path.parent)
    except PathNotFoundError:
        return _with(error, f"its directory {path.parent} is not there either")
    except MoorageError:
        return error
    found = meant(path.name, names)
    if found.equivalent:
        stored = str(path.parent / found.equivalent[0])
        return _with(
            error,
            f"a name that looks the same is there in another Unicode form: {stored} (as JSON: {json.dumps(stored)})",
        )
    if found.near:
        return _with(error, "near names there: " + ", ".join(str(path.parent / name) for name in found.near))
    return error


async def _names(call: ToolCall, directory: StoragePath) -> list[str]:
    names: list[str] = []
    async with aclosing(call.files.scan_dir(directory)) as entries:
        async for entry in entries:
            if entry.path is not None:
                names.append(entry.name)
            if len(names) >= _LOOKED_AT:
                break
    masked = ShownNames(call.redact).masked(names)
    return [masked.get(name, name) for name in names]


def _with(error: PathNotFoundError, hint: str) -> PathNotFoundError:
    return PathNotFoundError(
        f"{error.message}; {hint}", operation=error.operation, path=error.path, provider=error.provider
    )
