"""Access tokens: fetched once, again before they run out, and when the store refuses them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.to_thread

from moorage import MoorageError, OperationTimeoutError, PermissionDeniedError, UnavailableError
from moorage_gcs import sdk
from moorage_gcs.credentials import Credentials, TokenCall

_EARLY: Final = 300.0
"""Seconds before it runs out at which a token is fetched again."""
_SOON: Final = 30.0
"""Seconds for which a token that is always about to run out is kept nevertheless."""
_UNSAID: Final = 300.0
"""Seconds for which a token is kept whose end is not known but which may be replaced."""
_PAIR: Final = 2
_NOTHING: Final[Mapping[str, str]] = {}


class TokenSource:
    """The headers that authenticate one client's requests; none where it is anonymous.

    Args:
        patience: seconds that one step of getting a token may take.
    """

    def __init__(self, credentials: Credentials, patience: float = 70.0) -> None:
        self._credentials = credentials
        self._patience = patience
        self._google: sdk.GoogleToken | None = None
        self._is_loaded = False
        self._held: Mapping[str, str] | None = _NOTHING if credentials.kind == "anonymous" else None
        self._until = float("inf") if credentials.kind == "anonymous" else 0.0
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_anonymous(self) -> bool:
        return self._held is _NOTHING

    def current(self) -> Mapping[str, str] | None:
        """What is at hand and still good, without waiting."""
        return self._held if self._held is not None and time.time() < self._until else None

    async def google(self) -> sdk.GoogleToken | None:
        """The object of google-auth, where there is one."""
        if not self._is_loaded:
            with self._in_time():
                self._google = await sdk.google_token(self._credentials)
            self._is_loaded = True
        return self._google

    async def fresh(self, instead_of: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """Good headers; others than ``instead_of``, which the store refused, where others can be had.

        Raises:
            PermissionDeniedError: there are no credentials, or they were refused.
            UnavailableError: nobody could be asked for a token.
        """
        async with self._own_lock():
            held = self.current()
            if held is not None and held is not instead_of:
                return held
            google = await self.google()
            if google is not None:
                with self._in_time():
                    self._held, until = await _of_google(google, renew=instead_of is not None)
            elif self._credentials.kind == "google":
                self._held, until = _NOTHING, None
            else:
                with self._in_time():
                    self._held, until = await self._given()
            now = time.time()
            self._until = float("inf") if until is None else max(until - _EARLY, min(until, now + _SOON))
            return self._held

    async def _given(self) -> tuple[Mapping[str, str], float | None]:
        match self._credentials.kind:
            case "token":
                token: object = self._credentials.value
            case "token_file":
                token = (await _read(cast("Path", self._credentials.value)), time.time() + _UNSAID + _EARLY)
            case _:
                token = await _called(cast("TokenCall", self._credentials.value))
        return _checked(token)

    @contextmanager
    def _in_time(self) -> Generator[None, None, None]:
        with anyio.move_on_after(self._patience) as scope:
            yield
        if scope.cancelled_caught:
            raise OperationTimeoutError("nobody issues an access token in time")

    def _own_lock(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock


async def _of_google(google: sdk.GoogleToken, *, renew: bool) -> tuple[Mapping[str, str], float | None]:
    until = sdk.expiry(google)
    is_good = google.token is not None and (until is None or until - time.time() > _EARLY)
    if renew or not is_good:
        await sdk.refresh(google)
    headers: dict[str, str] = {}
    google.apply(headers)
    return headers, sdk.expiry(google)


async def _read(path: Path) -> str:
    try:
        return (await anyio.to_thread.run_sync(path.read_text)).strip()
    except (OSError, ValueError) as error:
        reason = type(error).__name__
    raise PermissionDeniedError(f"no credentials: the token file cannot be read: {reason}")


async def _called(call: TokenCall) -> object:
    try:
        if iscoroutinefunction(call):
            token: object = await call()
        else:
            given = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
            token = await given if isawaitable(given) else given
    except MoorageError:
        raise
    except Exception as error:
        reason = type(error).__name__
    else:
        return (token, time.time() + _UNSAID + _EARLY) if isinstance(token, str) else token
    raise UnavailableError(f"the function for access tokens failed: {reason}")


def _checked(given: object) -> tuple[Mapping[str, str], float | None]:
    pair = cast("tuple[object, ...]", given) if isinstance(given, tuple) else (given, None)
    token, until = pair if len(pair) == _PAIR else (None, None)
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or " " in token or not token:
        raise PermissionDeniedError("no credentials: what was given is no access token")
    return {"authorization": f"Bearer {token}"}, None if until is None else _seconds(until)


def _seconds(until: object) -> float:
    try:
        seconds = until.timestamp() if isinstance(until, datetime) else float(cast("float", until))
    except (TypeError, ValueError, OverflowError, OSError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise PermissionDeniedError("no credentials: what was given does not say when the access token runs out")
    return seconds
