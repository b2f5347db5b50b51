"""moto: an S3 server in memory that takes every key, checks no signature, and ignores some conditions.

It ignores ``If-Match`` on CompleteMultipartUpload and every condition on CopyObject.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.servers.ports import LOOPBACK, free_ports
from tests.servers.processes import enter_one, installed, running
from tests.servers.s3_server import BUCKET, S3Server, UnexpectedAnswerError


@contextmanager
def running_moto() -> Iterator[S3Server]:
    """A server of its own, with an empty bucket ``bucket1``.

    Raises:
        ServerError: it is not installed, or did not start.
    """
    with ExitStack() as stack:
        yield enter_one(stack, _attempt)


@contextmanager
def _attempt() -> Iterator[S3Server]:
    server = S3Server(free_ports(1)[0])
    command: list[str | Path] = [installed("python"), "-m", "moto.server", "-H", LOOPBACK, "-p", str(server.port)]
    with running(command, lambda: _serves(server)):
        yield server


def _serves(server: S3Server) -> bool:
    try:
        server.make_bucket(BUCKET)
    except UnexpectedAnswerError:
        return False
    return True
