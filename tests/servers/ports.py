"""Free ports on the loopback interface."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Final

LOOPBACK: Final = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Different ports that nobody listened on a moment ago; another process may take one, so be ready to retry."""
    with ExitStack() as stack:
        # Named as TCP, so that asyncio turns Nagle's algorithm off: an upload would wait 40 ms for each answer.
        sockets = [
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP))
            for _ in range(count)
        ]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [each.getsockname()[1] for each in sockets]


def listening_socket() -> socket.socket:
    """A socket that listens already: its port cannot be lost to anybody."""
    # Named as TCP, so that asyncio turns Nagle's algorithm off: an upload would wait 40 ms for each answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind((LOOPBACK, 0))
    listener.listen(256)
    return listener
