"""The server's transport: HTTP/1.1 on a loopback port, in a thread, or in a process of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import secrets
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web
from tests.servers.gcs.calls import Answer, Call
from tests.servers.gcs.routes import handle
from tests.servers.gcs.state import State
from tests.servers.ports import LOOPBACK, free_ports, listening_socket
from tests.servers.processes import ROOT, enter_one, running
from tests.servers.threads import in_thread

BUCKET: Final = "bucket1"


class UnexpectedAnswerError(AssertionError):
    """The server refused a request of the test's own."""


@dataclass(frozen=True, slots=True)
class GCSServer:
    """A running server, here or in another process; the methods ask it over HTTP, past the code under test."""

    port: int
    bucket: str = BUCKET
    token: str | None = None

    @property
    def endpoint_url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def request(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send anything; the answer's status, headers in lower case, and body."""
        sent = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **(headers or {})}
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=30)
        try:
            connection.request(method, target, body=body, headers=sent)
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, fields, answer.read()
        finally:
            connection.close()

    def make_bucket(self, name: str | None = None) -> str:
        """Make a bucket of this or of a random name, and return its name."""
        name = name or f"bucket-{secrets.token_hex(6)}"
        self._json("POST", "/storage/v1/b?project=test", body=json.dumps({"name": name}).encode())
        return name

    def put(self, key: str, body: bytes, *, bucket: str | None = None, content_type: str = "") -> int:
        """Store an object whatever is there, and return its generation."""
        target = f"/upload/storage/v1/b/{bucket or self.bucket}/o?uploadType=media&name={quote(key, safe='')}"
        stored = self._json("POST", target, headers={"Content-Type": content_type} if content_type else {}, body=body)
        return int(stored["generation"])

    def get(self, key: str, *, bucket: str | None = None) -> bytes | None:
        """The object's bytes as they are stored; ``None`` where there is none."""
        target = f"{self._object(bucket, key)}?alt=media"
        status, _, body = self.request("GET", target, headers={"Accept-Encoding": "gzip"})
        if status == http.client.NOT_FOUND:
            return None
        return _checked(status, body)

    def head(self, key: str, *, bucket: str | None = None) -> dict[str, Any] | None:
        """The object's resource; ``None`` where there is none."""
        status, _, body = self.request("GET", self._object(bucket, key))
        found: dict[str, Any] = json.loads(body)
        return None if status == http.client.NOT_FOUND else found

    def delete(self, key: str, *, bucket: str | None = None) -> None:
        """Delete the object, if there is one."""
        self.request("DELETE", self._object(bucket, key))

    def keys(self, prefix: str = "", *, bucket: str | None = None) -> list[str]:
        """Every key with the prefix, markers of directories included."""
        found: list[str] = []
        token = ""
        while True:
            target = f"/storage/v1/b/{bucket or self.bucket}/o?prefix={quote(prefix, safe='')}&pageToken={token}"
            page = self._json("GET", target)
            found += [item["name"] for item in page.get("items", [])]
            token = page.get("nextPageToken", "")
            if not token:
                return found

    def _object(self, bucket: str | None, key: str) -> str:
        return f"/storage/v1/b/{bucket or self.bucket}/o/{quote(key, safe='')}"

    def _json(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> dict[str, Any]:
        status, _, answer = self.request(method, target, headers=headers, body=body)
        document: dict[str, Any] = json.loads(_checked(status, answer))
        return document


def _checked(status: int, body: bytes) -> bytes:
    if status >= http.client.MULTIPLE_CHOICES:
        raise UnexpectedAnswerError(f"{status} {body[:500]!r}")
    return body


@dataclass(frozen=True, slots=True)
class LocalGCSServer(GCSServer):
    """A server in a thread of this process: what it knows can be looked at and changed."""

    state: State = field(default_factory=State)

    def pending_uploads(self) -> list[str]:
        """Names of resumable uploads that were neither finished nor cancelled."""
        return self.state.pending_uploads()


async def serve(state: State, listener: socket.socket, stop: asyncio.Event) -> None:
    """Serve until ``stop`` is set."""
    base_url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    # A body keeps its encoding: what is uploaded compressed is stored so.
    server = web.Server(lambda request: _answered(state, request, base_url), auto_decompress=False)
    runner = web.ServerRunner(server, shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        await stop.wait()
    finally:
        await runner.cleanup()


async def _answered(state: State, request: web.BaseRequest, base_url: str) -> web.StreamResponse:
    body, complete = await _received(request)
    headers = {name.lower(): value for name, value in request.headers.items()}
    asked_by = headers.get("host")
    url = f"http://{asked_by}" if asked_by else base_url
    call = Call.of(request.method, request.raw_path, headers, body, complete=complete)
    return _response(handle(state, call, url))


async def _received(request: web.BaseRequest) -> tuple[bytes, bool]:
    """The body, and whether all of it came."""
    body = bytearray()
    try:
        async for chunk in request.content.iter_any():
            body += chunk
    except (OSError, web.RequestPayloadError):
        return bytes(body), False
    return bytes(body), True


def _response(answer: Answer) -> web.Response:
    headers = {**answer.headers, "Server": "UploadServer"}
    response = web.Response(status=answer.status, headers=headers, body=answer.body)
    if answer.status == http.client.NO_CONTENT or "Content-Type" not in answer.headers:
        response.headers.pop("Content-Type", None)
    return response


@contextmanager
def serving_gcs(state: State | None = None) -> Iterator[LocalGCSServer]:
    """A server in a thread, with an empty bucket ``bucket1`` if the state is new."""
    if state is None:
        state = State()
        state.make_bucket(BUCKET)
    known = state
    with listening_socket() as listener, in_thread("gcs", lambda stop: serve(known, listener, stop)):
        yield LocalGCSServer(listener.getsockname()[1], state=state)


@contextmanager
def running_gcs(*, bare_line_feeds: bool = False) -> Iterator[GCSServer]:
    """A server in a process of its own, with an empty bucket ``bucket1``: for benchmarks, and for many processes.

    ``bare_line_feeds`` lets the high-level methods of gcsfs upload, too.
    """
    with ExitStack() as stack:
        yield enter_one(stack, lambda: _attempt(["--bare-line-feeds"] if bare_line_feeds else []))


@contextmanager
def _attempt(options: list[str]) -> Iterator[GCSServer]:
    server = GCSServer(free_ports(1)[0])
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.servers.gcs.__main__ import main; main()"
    command: list[str | Path] = [sys.executable, "-c", program, "--port", str(server.port), *options]
    with running(command, lambda: _serves(server)):
        yield server


def _serves(server: GCSServer) -> bool:
    return server.request("GET", f"/storage/v1/b/{server.bucket}/o")[0] == http.client.OK
