"""Servers are ended with whoever started them, in whatever way that ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from tests.servers.gcs import running_gcs
from tests.servers.ports import LOOPBACK, free_ports
from tests.servers.processes import ROOT, ServerEndedError, ServerError, enter_one, installed, running

START = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from tests.servers.gcs import running_gcs
with running_gcs() as server:
    print(server.port, flush=True)
    {{then}}
"""


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((LOOPBACK, port)) == 0


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_with_its_starter(how: signal.Signals) -> None:
    code = START.format(then="time.sleep(60)")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as starter:
        assert starter.stdout is not None
        port = int(starter.stdout.readline())
        assert answers(port)
        os.kill(starter.pid, how)
        starter.wait(10)
    deadline = time.monotonic() + 10
    while answers(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not answers(port)


def test_a_server_ends_with_its_block() -> None:
    with running_gcs() as server:
        assert server.keys() == []
    assert not answers(server.port)


def test_one_that_will_not_end_is_killed() -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    begun = time.monotonic()
    with running([sys.executable, "-c", stubborn], lambda: True, grace_seconds=0.3):
        pass
    assert time.monotonic() - begun < 5


def test_what_it_printed_is_told() -> None:
    with (
        pytest.raises(ServerEndedError, match=r"(?s)exit code 3.*no room"),
        running([sys.executable, "-c", "print('no room'); raise SystemExit(3)"], lambda: False),
    ):
        pass
    with (
        pytest.raises(ServerError, match="not ready after"),
        running([sys.executable, "-c", "import time; time.sleep(60)"], lambda: False, start_seconds=0.2),
    ):
        pass


def test_a_lost_port_is_no_failure() -> None:
    attempts: list[None] = []

    @contextmanager
    def attempt() -> Iterator[int]:
        attempts.append(None)
        if len(attempts) < 3:
            raise ServerEndedError("address in use")
        yield 7

    with ExitStack() as stack:
        assert enter_one(stack, attempt) == 7
    with ExitStack() as stack, pytest.raises(ServerEndedError):
        enter_one(stack, lambda: running([sys.executable, "-c", "raise SystemExit(1)"], lambda: False))


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ServerError, match="scripts/servers"):
        installed("no-such-server")


def test_ports_are_different() -> None:
    assert len(set(free_ports(20))) == 20
