"""An HTTP/1.1 proxy before one server: it counts and names requests, and breaks some of them by rule.

Requests pass unchanged, their Host header too, which a signature covers: a server that is asked under the proxy's
address sees just that. Every request goes over a connection of its own to the server.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from tests.servers.faults import (
    Action,
    Answer,
    CutBody,
    CutUpload,
    DropRequest,
    DropResponse,
    Rule,
    Stall,
    StripConditions,
    StripRange,
)
from tests.servers.kinds import kind_of
from tests.servers.messages import (
    Head,
    ends_with_connection,
    read_head,
    read_response_head,
    request_body,
    response_body,
    response_head,
)
from tests.servers.ports import LOOPBACK, listening_socket
from tests.servers.signing import Identity
from tests.servers.stripping import without_conditions, without_range
from tests.servers.threads import in_thread

POLL_SECONDS: Final = 0.005
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(slots=True)
class Seen:
    """One request: its kind, what was asked, the status that the server gave, and what the proxy did to it."""

    kind: str
    head: Head
    action: Action | None = None
    status: int | None = None

    @property
    def method(self) -> str:
        return self.head.method

    @property
    def target(self) -> str:
        return self.head.target


class Proxy:
    """A running proxy. Its methods may be called from any thread."""

    def __init__(self, upstream: int, port: int, identities: Iterable[Identity]) -> None:
        self.port = port
        self.requests: list[Seen] = []
        self._upstream = upstream
        self._identities = tuple(identities)
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)

    @property
    def endpoint_url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def count(self, kind: str | None = None) -> int:
        """How many requests of the kind, or of any, arrived since the start or the last ``reset``."""
        return len(self.kinds()) if kind is None else self.kinds().count(kind)

    def kinds(self) -> list[str]:
        """The kind of every request, in order of arrival."""
        with self._lock:
            return [seen.kind for seen in self.requests]

    def reset(self) -> None:
        """Forget the requests; the rules stay."""
        with self._lock:
            self.requests.clear()

    def add(self, rule: Rule) -> Rule:
        """Follow this rule from now on, after those added before; of the rules that fit, the first is followed."""
        with self._lock:
            self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Forget the rules; the requests stay."""
        with self._lock:
            self._rules.clear()

    def wait_for(self, kind: str | None = None, number: int = 1, *, seconds: float = 10) -> None:
        """Block until so many requests of the kind, or of any, have arrived.

        Raises:
            TimeoutError: they did not in time.
        """
        with self._arrived:
            arrived = self._arrived.wait_for(
                lambda: sum(kind in {None, seen.kind} for seen in self.requests) >= number, seconds
            )
        if not arrived:
            raise TimeoutError(f"{number} of {kind or 'any kind'} did not arrive in {seconds:g} s: {self.kinds()}")

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client's connection."""
        try:
            while (head := await read_head(reader)) is not None:
                if not await self._exchange(head, reader, writer):
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _record(self, head: Head) -> Seen:
        seen = Seen(kind_of(head.method, head.target, head.headers), head)
        with self._arrived:
            self.requests.append(seen)
            for rule in self._rules:
                if rule.fires(seen.kind, head.method, head.target):
                    seen.action = rule.action
                    break
            self._arrived.notify_all()
        return seen

    async def _exchange(self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Handle one request; whether the connection goes on."""
        seen = self._record(head)
        if head.headers.get("expect", "").lower() == "100-continue":
            writer.write(CONTINUE)
        exchange = _Exchange(seen, head.without(["expect"]), reader, writer, self._upstream)
        match seen.action:
            case None:
                return await exchange.relay()
            case DropRequest():
                return exchange.drop()
            case DropResponse():
                await exchange.swallow()
                return exchange.drop()
            case Stall():
                return await exchange.stall(seen.action)
            case CutBody():
                await exchange.relay(seen.action.keep)
                return exchange.drop()
            case CutUpload():
                await exchange.cut_upload(seen.action.keep)
                return exchange.drop()
            case Answer():
                return await exchange.answer(seen.action)
            case StripConditions():
                exchange.head = without_conditions(exchange.head, self._identities)
                return await exchange.relay()
            case StripRange():
                exchange.head = without_range(exchange.head, self._identities)
                return await exchange.relay()


class _Exchange:
    """One request on its way to the server and back."""

    def __init__(
        self, seen: Seen, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: int
    ) -> None:
        self.head = head
        self._seen = seen
        self._reader = reader
        self._writer = writer
        self._upstream = upstream

    async def relay(self, keep: int | None = None) -> bool:
        """Forward it and give the response back, or only so many bytes of its body."""
        async with self._forwarded() as (answer, body):
            self._writer.write(answer.encode())
            async for data in body:
                self._writer.write(data if keep is None else data[:keep])
                await self._writer.drain()
                if keep is not None:
                    keep -= min(keep, len(data))
                    if not keep:
                        break
            await self._writer.drain()
        return not (ends_with_connection(answer) or answer.headers.get("connection", "").lower() == "close")

    async def swallow(self) -> None:
        """Forward it and read the response for nobody."""
        async with self._forwarded() as (_, body):
            async for _data in body:
                pass

    async def answer(self, answer: Answer) -> bool:
        if answer.after:
            await self.swallow()
        else:
            async for _data in request_body(self.head, self._reader):
                pass
        headers = {**answer.headers, "Content-Length": str(len(answer.body))}
        body = b"" if self.head.method == "HEAD" else answer.body
        self._writer.write(response_head(answer.status, headers).encode() + body)
        await self._writer.drain()
        return True

    async def stall(self, stall: Stall) -> bool:
        if stall.after:
            async with self._forwarded() as (answer, body):
                data = b"".join([each async for each in body])
            if not await self._held(stall):
                return self.drop()
            self._writer.write(answer.encode() + data)
            await self._writer.drain()
            return not ends_with_connection(answer)
        return await self.relay() if await self._held(stall) else self.drop()

    async def _held(self, stall: Stall) -> bool:
        """Wait as long as it says; whether to go on."""
        deadline = None if stall.seconds is None else time.monotonic() + stall.seconds
        while not self._reader.at_eof() and not self._writer.transport.is_closing():
            if deadline is not None and time.monotonic() >= deadline:
                return True
            if stall.release is not None and stall.release.is_set():
                return True
            await asyncio.sleep(POLL_SECONDS)
        return False

    async def cut_upload(self, keep: int) -> None:
        _, writer = await asyncio.open_connection(LOOPBACK, self._upstream)
        writer.write(self.head.encode())
        async for data in request_body(self.head, self._reader):
            writer.write(data[:keep])
            keep -= min(keep, len(data))
            if not keep:
                break
        await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    def drop(self) -> bool:
        self._writer.transport.abort()
        return False

    @asynccontextmanager
    async def _forwarded(self) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        """The server's answer. The body goes on being sent meanwhile: a server may refuse before it has read it."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self._upstream)
        sending = asyncio.create_task(self._send(writer))
        try:
            answer = await read_response_head(reader)
            if answer is None:
                if sending.done():
                    sending.result()
                raise ConnectionAbortedError("the server closed the connection")
            self._seen.status = answer.status
            yield answer, response_body(self.head.method, answer, reader)
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError, OSError, asyncio.IncompleteReadError):
                await sending
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(self.head.encode())
            async for data in request_body(self.head, self._reader):
                writer.write(data)
                await writer.drain()
            await writer.drain()
        except asyncio.IncompleteReadError:
            writer.transport.abort()
            raise


@contextmanager
def running_proxy(upstream: int, identities: Iterable[Identity] = ()) -> Iterator[Proxy]:
    """A proxy, in a thread of its own, before the server at this loopback port.

    ``identities`` are for signing anew what was signed with their keys; only stripping needs them.
    """
    with listening_socket() as listener:
        proxy = Proxy(upstream, listener.getsockname()[1], identities)
        with in_thread("proxy", lambda stop: _serve(proxy, listener, stop)):
            yield proxy


async def _serve(proxy: Proxy, listener: socket.socket, stop: asyncio.Event) -> None:
    conversations: set[asyncio.Task[None]] = set()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(proxy.converse(reader, writer))
        conversations.add(task)
        task.add_done_callback(conversations.discard)

    server = await asyncio.start_server(accepted, sock=listener, limit=1024 * 1024)
    try:
        await stop.wait()
    finally:
        server.close()
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)
        await server.wait_closed()
