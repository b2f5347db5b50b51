"""Serves GCS's JSON API from memory on a loopback port: ``python -m tests.servers.gcs --port 0``."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket

from tests.servers.gcs.serving import BUCKET, serve
from tests.servers.gcs.state import State
from tests.servers.ports import LOOPBACK


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.gcs", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one and prints it")
    parser.add_argument("--bucket", action="append", help=f"a bucket that is there already (default: {BUCKET})")
    parser.add_argument("--bare-line-feeds", action="store_true", help="take multipart uploads with LF for CRLF")
    options = parser.parse_args()
    state = State()
    state.settings.bare_line_feeds = options.bare_line_feeds
    for name in options.bucket or [BUCKET]:
        state.make_bucket(name)
    asyncio.run(_serve(state, options.port))


async def _serve(state: State, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with socket.create_server((LOOPBACK, port), backlog=256) as listener:
        print(f"http://{LOOPBACK}:{listener.getsockname()[1]}", flush=True)
        await serve(state, listener, stop)


if __name__ == "__main__":
    main()
