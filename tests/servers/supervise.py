"""Runs a command until standard input ends or a signal comes: a server thus never outlives whoever started it.

``python supervise.py GRACE COMMAND…``: standard input is a pipe from the starter, which ends with it, however it ends.
The command gets SIGTERM, after GRACE seconds SIGKILL, in a process group of its own. The exit code is the command's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress


def main(grace: float, command: list[str]) -> int:
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    signal.signal(signal.SIGTERM, lambda *_: _end(child, grace))
    threading.Thread(target=_end_with_input, args=(child, grace), daemon=True).start()
    return child.wait()


def _end_with_input(child: subprocess.Popen[bytes], grace: float) -> None:
    while os.read(0, 4096):
        pass
    _end(child, grace)


def _end(child: subprocess.Popen[bytes], grace: float) -> None:
    # The id stays the child's own until somebody has waited for it, and killpg on a group without members only raises.
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(grace)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
