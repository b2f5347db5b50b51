"""gcsfs, google-auth and google-crc32c, behind types: no other module touches them.

gcsfs owns the session and holds the credentials; google-auth makes and refreshes them, in a thread, since it blocks.
gcsfs's own request methods are not used: they send again what was lost without saying so, which turns a conditional
write into a refusal of itself, and they read every body whole.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, cast

import aiohttp
import anyio.to_thread
import google_crc32c

from moorage import MoorageError, PermissionDeniedError, UnavailableError
from moorage_gcs.credentials import Credentials

SCOPE: Final = "https://www.googleapis.com/auth/devstorage.full_control"
_HIDDEN_RETRY: Final = "_retry_connection"
"""aiohttp sends a request again by itself when a kept connection turns out to be closed. A retry that nobody knows of
makes a conditional write fail on its own first attempt, so it is switched off; a test watches that it stays off."""
_NO_AUTOMATIC_HEADERS: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_IDLE: Final = 30.0
"""Seconds that an unused connection is kept."""
_ENDLESS: Final = "short-lived token and in a reasonable timeframe"
"""What Google's token service says of a key's signature whose times do not fit its own clock."""


class GoogleToken(Protocol):
    """What is used of google-auth's credentials."""

    token: str | None
    expiry: datetime | None

    def apply(self, headers: dict[str, str]) -> None: ...
    def refresh(self, request: object) -> None: ...


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections, and how long to wait for each step, in seconds."""

    most: int = 64
    connect_timeout: float = 10.0
    read_timeout: float = 60.0

    @property
    def patience(self) -> float:
        """For a connection out of the pool, all of which may be held by readers, and for an access token."""
        return self.connect_timeout + self.read_timeout


def crc32c(data: bytes, before: int = 0) -> int:
    """The checksum of ``data`` after bytes whose checksum is ``before``."""
    return cast("int", cast("Any", google_crc32c).extend(before, data))


def encoded_crc32c(value: int) -> str:
    """As the JSON API writes it."""
    return base64.b64encode(value.to_bytes(4, "big")).decode()


def load() -> None:
    """Import gcsfs, which takes half a second: better in a thread."""
    import gcsfs.core  # type: ignore[import-untyped]  # noqa: F401


async def open_session(token: GoogleToken | None, endpoint: str, project: str | None, limits: ConnectionLimits) -> Any:
    """A gcsfs filesystem that belongs to the running loop and to nobody else.

    ``gcsfs.core``'s own class: the one that ``gcsfs`` exports asks Google's control API for the kind of each bucket,
    a minute for each on a server that is not Google's.
    """
    await anyio.to_thread.run_sync(load)
    from gcsfs.core import GCSFileSystem  # pyright: ignore[reportMissingTypeStubs]

    timeout = aiohttp.ClientTimeout(
        total=None, connect=limits.patience, sock_connect=limits.connect_timeout, sock_read=limits.read_timeout
    )
    session: dict[str, object] = {
        "connector": aiohttp.TCPConnector(limit=limits.most, keepalive_timeout=_IDLE),
        "timeout": timeout,
        "auto_decompress": False,
        "cookie_jar": aiohttp.DummyCookieJar(),
        "skip_auto_headers": _NO_AUTOMATIC_HEADERS,
        "read_bufsize": 1 << 18,
    }
    filesystem = cast("Any", GCSFileSystem)(
        project=project or "",
        token=token or "anon",
        endpoint_url=endpoint,
        session_kwargs=session,
        asynchronous=True,
        skip_instance_cache=True,
        use_listings_cache=False,
    )
    await filesystem._set_session()
    setattr(filesystem.session, _HIDDEN_RETRY, False)
    return filesystem


async def google_token(credentials: Credentials) -> GoogleToken | None:
    """The object of google-auth that these credentials are; ``None`` for none, and for tokens that are not its own.

    Raises:
        PermissionDeniedError: there are none, or they are no credentials.
    """
    try:
        made = await anyio.to_thread.run_sync(partial(_make, credentials), abandon_on_cancel=True)
    except MoorageError:
        raise
    except Exception as error:
        reason = type(error).__name__
    else:
        return cast("GoogleToken | None", made)
    if reason == "DefaultCredentialsError":
        raise PermissionDeniedError(
            "no credentials: none were given, and neither the environment, gcloud nor the machine has any"
        )
    raise PermissionDeniedError(f"no credentials: what was given cannot be used: {reason}")


def _make(credentials: Credentials) -> Any:
    match credentials.kind:
        case "default":
            from google import auth

            return cast("Any", auth).default(scopes=[SCOPE])[0]
        case "key":
            return _of_key(cast("Mapping[str, object]", credentials.value))
        case "key_file":
            return _of_key(_read_key(cast("Path", credentials.value)))
        case "google":
            return _scoped(credentials.value)
        case _:
            return None


def _read_key(path: Path) -> Mapping[str, object]:
    try:
        key = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = type(error).__name__
        raise PermissionDeniedError(f"no credentials: the key file cannot be read: {reason}") from None
    return cast("Mapping[str, object]", key) if isinstance(key, dict) else {}


def _of_key(key: Mapping[str, object]) -> Any:
    from google.oauth2 import credentials as user
    from google.oauth2 import service_account

    match key.get("type"):
        case "service_account":
            return cast("Any", service_account).Credentials.from_service_account_info(dict(key), scopes=[SCOPE])
        case "authorized_user":
            return cast("Any", user).Credentials.from_authorized_user_info(dict(key), scopes=[SCOPE])
        case _:
            raise PermissionDeniedError(
                "no credentials: the key is neither of a service account nor of a user; for others set "
                "GOOGLE_APPLICATION_CREDENTIALS, or give an object of google-auth"
            )


def _scoped(given: object) -> Any:
    from google.auth import credentials as auth

    if isinstance(given, auth.AnonymousCredentials):
        return None
    return cast("Any", auth).with_scopes_if_required(given, [SCOPE])


async def refresh(token: GoogleToken) -> None:
    """Get a new access token.

    Raises:
        PermissionDeniedError: it was refused; says so if the clock is why.
        UnavailableError: nobody could be asked.
    """
    try:
        await anyio.to_thread.run_sync(partial(_refresh, token), abandon_on_cancel=True)
    except Exception as error:
        reason, text = type(error).__name__, str(error)
    else:
        return
    if _ENDLESS in text:
        raise PermissionDeniedError("clock skew: this machine's clock and Google's differ too much")
    if reason == "TransportError":
        raise UnavailableError("the service that issues access tokens cannot be reached")
    raise PermissionDeniedError(f"the credentials were refused: {reason}")


def _refresh(token: GoogleToken) -> None:
    from google.auth.transport.requests import Request

    token.refresh(cast("Any", Request)())


def expiry(token: GoogleToken) -> float | None:
    """When it runs out, in seconds since the epoch; google-auth keeps a naive UTC time."""
    return None if token.expiry is None else token.expiry.replace(tzinfo=UTC).timestamp()


def default_endpoint() -> tuple[str, bool]:
    """Where Google is, or the emulator that the environment names; and whether it is the latter."""
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")
    if emulator and emulator != "default":
        return (emulator if "://" in emulator else f"http://{emulator}"), True
    return f"https://storage.{os.environ.get('GOOGLE_CLOUD_UNIVERSE_DOMAIN') or 'googleapis.com'}", False
