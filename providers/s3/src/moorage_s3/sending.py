"""From a request to an answer: signed, sent, and sent again where that is safe."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp
import anyio
import anyio.to_thread

from moorage import MoorageError, OperationTimeoutError, StorageError, UnavailableError
from moorage_s3.addressing import Place
from moorage_s3.connections import Connections
from moorage_s3.credentials import Credentials, CredentialSource
from moorage_s3.failures import EXPIRED, SKEWED, Refusal, refusal
from moorage_s3.signing import EMPTY, UNSIGNED, Signer, encode_query

_LARGEST_DOCUMENT: Final = 16 << 20
_LARGEST_ERROR: Final = 64 << 10
_PIECE: Final = 1 << 18
_HASHED_INLINE: Final = 1 << 19
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 20.0
_WATCHED_PAUSE: Final = 0.05
"""Longest pause of a write whose answer was lost: what became of it is seen only until many others have followed."""
_SKEW: Final = 600.0
"""Seconds between two clocks from which a refusal without a reason is put down to them; S3 allows fifteen minutes."""


@dataclass(frozen=True, slots=True)
class LargeBody:
    """A body that is not in memory: its length, its SHA-256, and how to read it, as often as it is sent."""

    length: int
    sha256: str
    read: Callable[[], AsyncGenerator[bytes, None]]


@dataclass(frozen=True, slots=True)
class Request:
    """One request, in words that can be signed again.

    Attributes:
        key: empty for the bucket itself.
        keep_open: leave the body of a successful answer to be read by the caller.
        is_settled: asked before the request is repeated, once an answer was lost, and after a long pause: whether that
            is needless by now. Told the last answer.
    """

    method: str
    key: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | LargeBody = b""
    keep_open: bool = False
    is_settled: IsSettled | None = None


@dataclass(slots=True)
class Answer:
    """What came of a request.

    Attributes:
        refusal: ``None`` for success.
        lost: some attempt's answer was lost: it may have taken effect, whatever this answer says.
        settled: it was not repeated, because that was needless.
        stream: the open response, where it was asked for.
    """

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 0
    body: bytes = b""
    refusal: Refusal | None = None
    failure: MoorageError | None = None
    lost: bool = False
    settled: bool = False
    stream: aiohttp.ClientResponse | None = None

    @property
    def is_success(self) -> bool:
        return self.refusal is None and self.failure is None

    def error(self) -> MoorageError:
        """Why it is no success."""
        if self.failure is not None:
            return self.failure
        return self.refusal.error() if self.refusal is not None else StorageError("no error")


IsSettled = Callable[[Answer], Awaitable[bool]]
"""Whether it is needless to repeat a write, told the last answer."""


@dataclass(slots=True)
class _Attempts:
    """What was learnt in earlier attempts of one request."""

    left: int
    number: int = 0
    lost: bool = False
    redirected: bool = False
    corrected: bool = False
    renewed: bool = False


@dataclass(frozen=True, slots=True)
class SendingOptions:
    """How requests are made, other than who signs them.

    Attributes:
        headers: sent with every request.
        signs_payload: hash each body into the signature; over TLS the body is covered by that instead.
    """

    retries: int = 4
    user_agent: str = "moorage-s3"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    signs_payload: bool = False


class Sender:
    """Makes the requests of one client."""

    def __init__(
        self, place: Place, source: CredentialSource, connections: Connections, options: SendingOptions
    ) -> None:
        self.place = place
        self._source = source
        self._connections = connections
        self._options = options
        self._signer = Signer()
        self._skew = 0.0

    async def send(self, request: Request) -> Answer:
        """Send, and again after throttling, a failing server or a lost connection.

        Only what may happen twice is to be sent: the caller recognises its own first attempt where it must.
        Errors are in the answer, not raised; cancellation is.
        """
        attempts = _Attempts(left=self._options.retries)
        payload = await self._hash(request.body)
        while True:
            credentials = self._source.current()
            if credentials is None and not self._source.is_anonymous:
                try:
                    credentials = await self._source.fresh()
                except MoorageError as error:
                    return Answer(failure=error, lost=attempts.lost)
            answer = await self._once(request, payload, credentials)
            refused = answer.refusal
            is_lost = answer.lost or (refused is not None and refused.is_unclear)
            answer.lost = attempts.lost = attempts.lost or is_lost
            if answer.is_success or not await self._repeats(request, answer, attempts, credentials):
                return answer

    async def _hash(self, body: bytes | LargeBody) -> str:
        if not body:
            return EMPTY
        if not self._options.signs_payload:
            return UNSIGNED
        if isinstance(body, LargeBody):
            return body.sha256
        if len(body) <= _HASHED_INLINE:
            return hashlib.sha256(body).hexdigest()
        return await anyio.to_thread.run_sync(lambda: hashlib.sha256(body).hexdigest())

    async def _once(self, request: Request, payload: str, credentials: Credentials | None) -> Answer:
        place = self.place
        path, query = place.path(request.key), encode_query(dict(request.query)) if request.query else ""
        headers = {"host": place.host, "x-amz-content-sha256": payload, **request.headers, **self._options.headers}
        try:
            session = await self._connections.session()
        except MoorageError as error:
            return Answer(failure=error)
        try:
            if credentials is not None:
                now = time.time() + self._skew
                self._signer.sign(credentials, place.region, request.method, path, query, headers, now=now)
            headers["user-agent"] = self._options.user_agent
            headers["accept-encoding"] = "identity"
            body = _body(request, headers)
            response = await session.request(
                request.method, place.url(path, query), headers=headers, data=body, allow_redirects=False
            )
            return await _received(request, response)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return Answer(failure=_not_reached(error))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return Answer(failure=_broken(error), lost=True)
        except ValueError:
            return Answer(failure=StorageError("something in the request cannot stand in a header"))

    async def _repeats(
        self, request: Request, answer: Answer, attempts: _Attempts, credentials: Credentials | None
    ) -> bool:
        """Whether to send again, once what this needs was done or waited for."""
        refused = answer.refusal
        if refused is not None:
            if self._redirect(refused, attempts) or self._correct_clock(refused, answer.headers, attempts):
                return True
            is_expired = refused.code in EXPIRED or (refused.status == 400 and not refused.code)  # HEAD has no code
            if is_expired and not attempts.renewed and not self._source.is_anonymous:
                return await self._renew(answer, attempts, credentials)
            is_conflict = refused.status == 409 and attempts.lost
            if not (refused.is_failing or refused.is_throttling or is_conflict or refused.code == "RequestTimeout"):
                return False
        elif answer.failure is None or not answer.failure.retryable:
            return False
        if attempts.left <= 0:
            return False
        if answer.lost and await _settles(request, answer):
            return False
        attempts.left -= 1
        attempts.number += 1
        is_watched = answer.lost and request.is_settled is not None
        pause = _pause(attempts.number, answer.headers, _WATCHED_PAUSE if is_watched else _LONGEST_PAUSE)
        await anyio.sleep(pause)
        return pause <= _WATCHED_PAUSE or not await _settles(request, answer)

    def _redirect(self, refused: Refusal, attempts: _Attempts) -> bool:
        is_elsewhere = refused.status in (301, 307, 400, 403) and refused.region not in ("", self.place.region)
        if not is_elsewhere or attempts.redirected:
            return False
        attempts.redirected = True
        old, new = self.place.region, refused.region
        host = self.place.host.replace(f".{old}.", f".{new}.") if ".amazonaws." in self.place.host else self.place.host
        origin = self.place.origin.replace(self.place.host, host)
        self.place = replace(self.place, region=new, host=host, origin=origin)
        return True

    def _correct_clock(self, refused: Refusal, headers: Mapping[str, str], attempts: _Attempts) -> bool:
        if attempts.corrected or not (refused.code == SKEWED or (refused.status == 403 and not refused.code)):
            return False
        try:
            skew = parsedate_to_datetime(headers.get("Date", "")).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return False
        if refused.code != SKEWED and abs(skew - self._skew) < _SKEW:
            return False
        self._skew = skew
        attempts.corrected = True
        return True

    async def _renew(self, answer: Answer, attempts: _Attempts, credentials: Credentials | None) -> bool:
        attempts.renewed = True
        try:
            return await self._source.fresh(instead_of=credentials) is not credentials
        except MoorageError as error:
            answer.failure = error
            return False


async def _settles(request: Request, answer: Answer) -> bool:
    answer.settled = request.is_settled is not None and await request.is_settled(answer)
    return answer.settled


def _body(request: Request, headers: dict[str, str]) -> bytes | AsyncGenerator[bytes, None] | None:
    """What is handed to aiohttp, with the length that keeps it from chunking."""
    body = request.body
    if isinstance(body, LargeBody):
        headers["content-length"] = str(body.length)
        return body.read()
    if len(body) > _PIECE:
        headers["content-length"] = str(len(body))
        return _pieces(body)
    if not body and request.method in ("PUT", "POST"):
        headers["content-length"] = "0"
    return body or None


async def _received(request: Request, response: aiohttp.ClientResponse) -> Answer:
    status = response.status
    if status < 300 and request.keep_open:
        return Answer(response.headers, status, stream=response)
    try:
        if request.method == "HEAD" or status == 204:
            body = b""
            response.release()
        else:
            body = await _limited(response, _LARGEST_DOCUMENT if status < 300 else _LARGEST_ERROR)
    except BaseException:
        response.close()
        raise
    if status < 300 and not (b"<Error" in body and _is_error(body)):
        return Answer(response.headers, status, body)
    found = refusal(status, response.headers, body)
    return Answer(response.headers, status, body, refusal=found)


def _is_error(body: bytes) -> bool:
    """S3 may begin an answer with 200 and end it with an error, where the work took long."""
    return body.lstrip().removeprefix(b"\xef\xbb\xbf").partition(b"?>")[2].lstrip().startswith(b"<Error") or (
        body.lstrip().startswith(b"<Error")
    )


async def _limited(response: aiohttp.ClientResponse, most: int) -> bytes:
    length = response.content_length
    if length is not None and length <= _PIECE:
        return await response.read()
    received = bytearray()
    async for chunk in response.content.iter_any():
        received += chunk
        if len(received) > most:
            response.close()
            raise aiohttp.ClientPayloadError("the answer is larger than any answer of S3")
    return bytes(received)


async def _pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    view = memoryview(body)
    for start in range(0, len(body), _PIECE):
        yield bytes(view[start : start + _PIECE])


def _pause(number: int, headers: Mapping[str, str], most: float) -> float:
    """Anything up to a bound that doubles, so that clients do not come back together; longer where the store says."""
    bound = min(most, _FIRST_PAUSE * 2 ** (number - 1))
    asked = headers.get("Retry-After", "")
    least = min(float(asked), _LONGEST_PAUSE) if asked.isdecimal() else 0.0
    return least + random.uniform(0, bound)  # noqa: S311 - spreads clients, hides nothing


def _not_reached(error: Exception) -> MoorageError:
    if isinstance(error, asyncio.TimeoutError):
        return OperationTimeoutError("the store does not answer, or every connection to it is in use")
    return UnavailableError(f"the store cannot be reached: {type(error).__name__}")


def _broken(error: Exception) -> MoorageError:
    if isinstance(error, TimeoutError):
        return OperationTimeoutError("the store does not answer")
    return UnavailableError(f"the connection to the store broke: {type(error).__name__}")
