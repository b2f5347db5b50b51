"""Who signs: keys that are kept out of every text, fetched once and again before they run out."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from inspect import isawaitable, iscoroutinefunction
from typing import Final, NoReturn, cast

import anyio
import anyio.to_thread

from moorage import MoorageError, OperationTimeoutError, PermissionDeniedError, UnavailableError
from moorage_s3.loop_lock import LoopLock

_EARLY: Final = 300.0
"""Seconds before they run out at which credentials are fetched again."""
_SOON: Final = 30.0
"""Seconds for which credentials that are always about to run out are kept nevertheless."""
_IN_HEADER: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Keys for signing; neither shown by ``repr`` nor pickled.

    Attributes:
        expires_at: seconds since the epoch, or an aware time; ``None``: never.
    """

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: float | datetime | None = None

    def __reduce__(self) -> NoReturn:
        raise TypeError("credentials are not pickled")

    @property
    def expiry(self) -> float | None:
        """Seconds since the epoch."""
        moment = self.expires_at
        return moment.timestamp() if isinstance(moment, datetime) else moment


Given = Credentials | Mapping[str, object]
"""What a callable for credentials returns; a mapping has the names of :class:`Credentials`' fields."""

CredentialsCall = Callable[[], Given | Awaitable[Given]]
"""A function, plain or async, without arguments. A plain one runs in a thread. Called again when what it returned is
about to run out, or when the store says that it has."""

Fetch = Callable[[], Awaitable[Credentials]]


class CredentialSource:
    """The credentials of one client; ``None`` where requests are not signed.

    Args:
        patience: seconds that getting them may take.
    """

    def __init__(self, fetch: Fetch | None, patience: float = 70.0) -> None:
        self._fetch = fetch
        self._patience = patience
        self._held: Credentials | None = None
        self._until = 0.0
        self._lock = LoopLock()

    @property
    def is_anonymous(self) -> bool:
        return self._fetch is None

    def current(self) -> Credentials | None:
        """What is at hand and still good, without waiting."""
        return self._held if self._held is not None and time.time() < self._until else None

    async def fresh(self, instead_of: Credentials | None = None) -> Credentials | None:
        """Good credentials; others than ``instead_of``, which the store refused as expired.

        Raises:
            PermissionDeniedError: there are none.
            UnavailableError: they could not be fetched.
            OperationTimeoutError: nor in time.
        """
        if self._fetch is None:
            return None
        async with self._lock.here():
            held = self.current()
            if held is not None and held is not instead_of:
                return held
            fetched = await self._in_time(self._fetch)
            _check_usable(fetched)
            self._held = fetched
            expiry = self._held.expiry
            now = time.time()
            self._until = float("inf") if expiry is None else max(expiry - _EARLY, min(expiry, now + _SOON))
            return self._held

    async def _in_time(self, fetch: Fetch) -> Credentials:
        with anyio.move_on_after(self._patience):
            return await fetch()
        raise OperationTimeoutError("nobody gives credentials in time")


def fixed(credentials: Credentials) -> Fetch:
    """Always these."""

    async def fetch() -> Credentials:
        return credentials

    return fetch


def called(call: CredentialsCall) -> Fetch:
    """What the user's function returns."""

    async def fetch() -> Credentials:
        try:
            given = await _given(call)
        except MoorageError:
            raise
        except Exception as error:
            reason = type(error).__name__
        else:
            return _checked(given)
        raise UnavailableError(f"the function for credentials failed: {reason}")

    return fetch


def _check_usable(credentials: Credentials) -> None:
    """Refuse, without showing it, what cannot be sent or signed with: a line's end that was read along, say.

    Raises:
        PermissionDeniedError: the access key or the token cannot stand in a header, or the secret is no text.
    """
    token = credentials.session_token
    if _IN_HEADER.fullmatch(credentials.access_key_id) is None:
        raise PermissionDeniedError("no credentials: the access key is empty, or has blanks or control characters")
    if token is not None and _IN_HEADER.fullmatch(token) is None:
        raise PermissionDeniedError("no credentials: the session token is empty, or has blanks or control characters")
    secret = credentials.secret_access_key
    if not secret or any("\ud800" <= character <= "\udfff" for character in secret):
        raise PermissionDeniedError("no credentials: the secret key is empty or no text")


async def _given(call: CredentialsCall) -> object:
    if iscoroutinefunction(call):
        return await call()
    given: object = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
    return await given if isawaitable(given) else given


def _checked(given: object) -> Credentials:
    if isinstance(given, Credentials):
        return given
    if isinstance(given, Mapping):
        named = cast("Mapping[str, object]", given)
        key, secret, token = (named.get(name) for name in ("access_key_id", "secret_access_key", "session_token"))
        expires = named.get("expires_at")
        if (
            isinstance(key, str)
            and isinstance(secret, str)
            and isinstance(token, str | None)
            and isinstance(expires, float | int | datetime | None)
        ):
            return Credentials(key, secret, token, expires)
    raise PermissionDeniedError("no credentials: the function for them returned none")
