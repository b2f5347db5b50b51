"""From a request to an answer: authenticated, sent, and sent again where that is safe."""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

import aiohttp
import anyio
from yarl import URL

from moorage import MoorageError, OperationTimeoutError, PermissionDeniedError, StorageError, UnavailableError
from moorage_gcs.clocks import StoreClock, skew
from moorage_gcs.connections import Connections
from moorage_gcs.failures import Refusal, refusal
from moorage_gcs.tokens import TokenSource

BROKEN: Final = (aiohttp.ClientError, OSError, TimeoutError, RuntimeError)
"""What aiohttp raises where a connection breaks; a ``RuntimeError`` where it was closed from here meanwhile."""
_LARGEST_DOCUMENT: Final = 64 << 20
_LARGEST_ERROR: Final = 64 << 10
_PIECE: Final = 1 << 18
_FIRST_PAUSE: Final = 0.05
_FIRST_PAUSE_OF_SLOWING: Final = 0.25
_LONGEST_PAUSE: Final = 20.0
_SKEW: Final = 300.0
"""Seconds between two clocks from which a refusal of the credentials is put down to them."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        path: encoded, from the root of the endpoint; a query in it stays.
        body: in pieces, so that a large one is not copied.
        repeats: send again by itself when an answer was lost; otherwise the caller finds out first what happened.
        keep_open: leave the body of a successful answer to be read by the caller.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: tuple[bytes | memoryview, ...] = ()
    repeats: bool = True
    keep_open: bool = False


@dataclass(slots=True)
class Answer:
    """What came of a request.

    Attributes:
        refusal: ``None`` for success; 308, which asks for more of an upload, is one.
        lost: some attempt's answer was lost: it may have taken effect, whatever this answer says.
        stream: the open response, where it was asked for.
    """

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 0
    body: bytes = b""
    refusal: Refusal | None = None
    failure: MoorageError | None = None
    lost: bool = False
    stream: aiohttp.ClientResponse | None = None

    @property
    def is_success(self) -> bool:
        return self.refusal is None and self.failure is None

    @property
    def is_unmet(self) -> bool:
        """A precondition does not hold."""
        return self.refusal is not None and self.refusal.is_unmet

    @property
    def is_missing(self) -> bool:
        """There is no such object; a missing bucket is another matter."""
        return self.refusal is not None and self.refusal.status == 404 and not self.refusal.is_of_bucket

    def error(self) -> MoorageError:
        """Why it is no success."""
        if self.failure is not None:
            return self.failure
        return self.refusal.error() if self.refusal is not None else StorageError("no error")


@dataclass(slots=True)
class _Attempts:
    """What was learnt in earlier attempts of one request."""

    left: int
    number: int = 0
    lost: bool = False
    renewed: bool = False


@dataclass(frozen=True, slots=True)
class SendingOptions:
    """How requests are made, other than who authenticates them.

    Attributes:
        query: sent with every request.
    """

    retries: int = 5
    user_agent: str = "moorage-gcs"
    query: Mapping[str, str] = field(default_factory=dict[str, str])


class Sender:
    """Makes the requests of one client."""

    def __init__(self, endpoint: str, source: TokenSource, connections: Connections, options: SendingOptions) -> None:
        self.endpoint = endpoint
        self.clock = StoreClock()
        self._source = source
        self._connections = connections
        self._options = options

    @property
    def retries(self) -> int:
        return self._options.retries

    def target(self, path: str, query: Mapping[str, str] = MappingProxyType({})) -> str:
        """The path with its query, and with what the options add to every request, those in a batch included."""
        return path + _query(path, {**self._options.query, **query})

    async def send(self, request: Request) -> Answer:
        """Send, and again after throttling, a failing server or a lost connection.

        Errors are in the answer, not raised; cancellation, and use after closing or forking, are.
        """
        attempts = _Attempts(left=self._options.retries)
        while True:
            headers = self._source.current()
            if headers is None:
                try:
                    headers = await self._source.fresh()
                except MoorageError as error:
                    return Answer(failure=error, lost=attempts.lost)
            answer = await self._once(request, headers)
            answer.lost = attempts.lost = attempts.lost or answer.lost
            if answer.is_success or not await self._repeats(request, answer, attempts, headers):
                return answer

    async def _once(self, request: Request, authentication: Mapping[str, str]) -> Answer:
        session = await self._connections.session()
        url = URL(self.endpoint + self.target(request.path, request.query), encoded=True)
        headers = {
            "accept-encoding": "gzip",
            "user-agent": self._options.user_agent,
            **request.headers,
            **authentication,
            "content-length": str(sum(map(len, request.body))),
        }
        if request.method in ("GET", "DELETE"):
            del headers["content-length"]
        sent = time.monotonic()
        try:
            response = await session.request(
                request.method, url, headers=headers, data=_content(request.body), allow_redirects=False
            )
            self._connections.opened(response)
            self.clock.saw(response.headers.get("Date", ""), sent)
            return await _received(request, response)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return Answer(failure=_not_reached(error))
        except BROKEN as error:
            return Answer(failure=_broken(error), lost=True)

    async def _repeats(
        self, request: Request, answer: Answer, attempts: _Attempts, authentication: Mapping[str, str]
    ) -> bool:
        """Whether to send again, once what this needs was done or waited for."""
        refused = answer.refusal
        if refused is not None:
            if refused.status == 401:
                return await self._renew(answer, attempts, authentication)
            answer.lost = attempts.lost = attempts.lost or refused.is_failing
            if not (refused.is_failing or refused.is_throttling):
                return False
        if attempts.left <= 0 or (answer.lost and not request.repeats):
            return False
        attempts.left -= 1
        attempts.number += 1
        await anyio.sleep(pause(attempts.number, answer))
        return True

    async def _renew(self, answer: Answer, attempts: _Attempts, authentication: Mapping[str, str]) -> bool:
        """Whether a new token is worth a try; if not, the answer says why the store refused the old one."""
        if self._source.is_anonymous:
            answer.failure = PermissionDeniedError("no credentials: the store does not let everybody in")
            return False
        apart = skew(answer.headers.get("Date", ""))
        if abs(apart) > _SKEW:
            answer.failure = PermissionDeniedError(
                f"clock skew: this machine's clock and the store's differ by {abs(apart):.0f} seconds"
            )
        if attempts.renewed:
            return False
        attempts.renewed = True
        try:
            return await self._source.fresh(instead_of=authentication) != authentication
        except MoorageError as error:
            answer.failure = answer.failure or error
            return False


def _query(path: str, query: Mapping[str, str]) -> str:
    if not query:
        return ""
    text = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"{'&' if '?' in path else '?'}{text}"


def _content(body: tuple[bytes | memoryview, ...]) -> bytes | AsyncGenerator[bytes, None] | None:
    if not body:
        return None
    return b"".join(body) if sum(map(len, body)) <= _PIECE else _pieces(body)


async def _pieces(body: tuple[bytes | memoryview, ...]) -> AsyncGenerator[bytes, None]:
    for part in body:
        view = memoryview(part)
        for start in range(0, len(view), _PIECE):
            yield bytes(view[start : start + _PIECE])


async def _received(request: Request, response: aiohttp.ClientResponse) -> Answer:
    status = response.status
    if status < 300 and request.keep_open:
        return Answer(response.headers, status, stream=response)
    try:
        body = await _limited(response, _LARGEST_DOCUMENT if status < 300 else _LARGEST_ERROR)
    except BaseException:
        response.close()
        raise
    if response.headers.get("Content-Encoding") == "gzip":
        body = _expanded(body)
    refused = None if status < 300 else refusal(status, body)
    return Answer(response.headers, status, body, refused)


async def _limited(response: aiohttp.ClientResponse, most: int) -> bytes:
    length = response.content_length
    if length is not None and length <= _PIECE:
        return await response.read()
    received = bytearray()
    async for chunk in response.content.iter_any():
        received += chunk
        if len(received) > most:
            raise aiohttp.ClientPayloadError("the answer is larger than any answer of GCS")
    return bytes(received)


def _expanded(body: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(body, _LARGEST_DOCUMENT)
    except zlib.error:
        raise aiohttp.ClientPayloadError("the answer is said to be gzip and is not") from None


def pause(number: int, answer: Answer) -> float:
    """Anything up to a bound that doubles, so that clients do not come back together; longer where the store says."""
    first = _FIRST_PAUSE if answer.refusal is None else _FIRST_PAUSE_OF_SLOWING
    bound = min(_LONGEST_PAUSE, first * 2 ** max(number - 1, 0))
    asked = answer.headers.get("Retry-After", "")
    least = min(float(asked), _LONGEST_PAUSE) if asked.isdecimal() else 0.0
    return least + random.uniform(0, bound)  # noqa: S311 - spreads clients, hides nothing


def _not_reached(error: Exception) -> MoorageError:
    if isinstance(error, TimeoutError):
        return OperationTimeoutError("the store does not answer")
    return UnavailableError(f"the store cannot be reached: {type(error).__name__}")


def _broken(error: Exception) -> MoorageError:
    if isinstance(error, TimeoutError):
        return OperationTimeoutError("the store does not answer")
    return UnavailableError(f"the connection to the store broke: {type(error).__name__}")
