"""Clients do not outlive a fork: the child is told so before a byte goes out on its parent's connections."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final
from weakref import WeakSet

import aiohttp

_FORKS: Final = [0]
_SESSIONS: Final[WeakSet[aiohttp.ClientSession]] = WeakSet()
_ABANDONED: Final[list[object]] = []
"""The parent's connections: never closed in the child, where that would reach into the parent's event loop."""


def generation() -> int:
    """How many forks lie between the first process and this one."""
    return _FORKS[0]


def leave_behind_at_fork(session: aiohttp.ClientSession) -> None:
    """See to it that a child of this process neither uses nor closes this session."""
    _SESSIONS.add(session)


def _in_child() -> None:
    _FORKS[0] += 1
    for session in list(_SESSIONS):
        _ABANDONED.append(session.connector)
        session.detach()
    _SESSIONS.clear()


_register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
if _register is not None:
    _register(after_in_child=_in_child)
