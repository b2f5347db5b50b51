"""How messages write the keys of a configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dotted(key: Iterable[str]) -> str:
    """A key as TOML writes it: ``mounts."/data".base_path``."""
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in key)
