"""Clients do not outlive a fork: the child is told so before a byte goes out on its parent's connections."""

from __future__ import annotations

import os
from typing import Final

_FORKS: Final = [0]


def generation() -> int:
    """How many forks lie between the first process and this one."""
    return _FORKS[0]


def _count() -> None:
    _FORKS[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)
