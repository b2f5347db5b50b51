"""The only module that touches the untyped SDK: where credentials, regions and endpoints come from by default.

Sessions share one loader, so that service models are read once for all tenants; nothing else is shared.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

from moorage import ConfigError, MoorageError, PermissionDeniedError, UnavailableError
from moorage_s3.addressing import is_http
from moorage_s3.credentials import Credentials, Fetch

_ASKED_AGAIN: Final = 360.0
"""Seconds after which the SDK is asked again for keys that it refreshes itself; it answers from memory until then."""
_TALKATIVE: Final = (
    "botocore.auth",
    "botocore.credentials",
    "botocore.endpoint",
    "botocore.hooks",
    "botocore.httpsession",
    "botocore.loaders",
    "botocore.parsers",
    "botocore.regions",
    "botocore.retryhandler",
    "botocore.utils",
    "aiobotocore.credentials",
    "aiobotocore.endpoint",
    "aiobotocore.httpsession",
    "aiobotocore.parsers",
    "aiobotocore.regions",
    "aiobotocore.utils",
)
"""Loggers that at DEBUG write requests and answers, keys and tokens included, while credentials are fetched."""
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def environment() -> dict[str, str]:
    """The ``AWS_*`` variables of this moment."""
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}


def configured_region(environment: Mapping[str, str], profile: str | None) -> str | None:
    """The region that the environment or the profile names.

    Raises:
        ConfigError: there is no such profile.
    """
    found = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if found:
        return found
    with _discreet():
        value = _session(environment, profile).get_config_variable("region")
    return str(value) if value else None


def configured_endpoint(environment: Mapping[str, str]) -> str | None:
    """The endpoint that the environment names for S3 or for everything.

    Raises:
        ConfigError: it is no URL, or holds credentials.
    """
    if environment.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return None
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        if url := environment.get(name):
            if not is_http(url) or "@" in urlsplit(url).netloc:
                raise ConfigError(
                    f"{name}: an http:// or https:// URL without credentials, query and fragment is wanted"
                )
            return url.rstrip("/")
    return None


@lru_cache(maxsize=128)
def endpoint_of_region(region: str) -> str:
    """S3's endpoint in a region, partitions such as China's included."""
    resolver: Any = import_module("botocore.regions").EndpointResolver(_loader().load_data("endpoints"))
    found = resolver.construct_endpoint("s3", region)
    host = found["hostname"] if found else f"s3.{region}.amazonaws.com"
    return f"https://{'s3.us-east-1.amazonaws.com' if host == 's3.amazonaws.com' else host}"


def chain(environment: Mapping[str, str], profile: str | None) -> Fetch:
    """The SDK's default chain: environment, profiles, assumed roles, SSO, processes, containers, instance metadata.

    What the environment held when the filesystem was made counts, not what it holds at the first request.
    """
    held: list[Any] = []

    async def fetch() -> Credentials:
        if profile is None and (static := _from_environment(environment)) is not None:
            return static
        with _discreet():
            try:
                if not held:
                    found = await _session(environment, profile).get_credentials()
                    if found is None:
                        raise PermissionDeniedError("no credentials: neither given nor found where the SDK looks")
                    held.append(found)
                frozen = await held[0].get_frozen_credentials()
            except MoorageError:
                raise
            except Exception as error:
                reason = type(error).__name__
            else:
                return _frozen(frozen, is_refreshed=hasattr(held[0], "refresh_needed"))
        raise UnavailableError(f"no credentials: the SDK failed to fetch them: {reason}")

    return fetch


def _from_environment(environment: Mapping[str, str]) -> Credentials | None:
    key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        return None
    return Credentials(key, secret, environment.get("AWS_SESSION_TOKEN") or None)


def _frozen(frozen: Any, *, is_refreshed: bool) -> Credentials:
    until = time.time() + _ASKED_AGAIN if is_refreshed else None
    return Credentials(str(frozen.access_key), str(frozen.secret_key), frozen.token or None, until)


def _session(environment: Mapping[str, str], profile: str | None) -> Any:
    """A session of its own, with the shared loader.

    Raises:
        ConfigError: there is no such profile.
    """
    errors: Any = import_module("botocore.exceptions")
    session: Any = import_module("aiobotocore.session").AioSession()
    session.register_component("data_loader", _loader())
    wanted = profile or environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE")
    for variable, name in (("config_file", "AWS_CONFIG_FILE"), ("credentials_file", "AWS_SHARED_CREDENTIALS_FILE")):
        if name in environment:
            session.set_config_variable(variable, environment[name])
    if wanted:
        session.set_config_variable("profile", wanted)
    try:
        session.get_scoped_config()
    except errors.ProfileNotFound:
        raise ConfigError("profile: there is no such profile in the SDK's configuration") from None
    except errors.BotoCoreError as error:
        reason = type(error).__name__
    else:
        return session
    raise ConfigError(f"profile: the SDK's configuration cannot be read: {reason}")


@lru_cache(maxsize=1)
def _loader() -> Any:
    return import_module("botocore.loaders").create_loader()


class _Discreet(logging.Filter):
    """Drops what the SDK says while it fetches credentials for us; what others do with it is not our business."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _quiet.get()


_filter: Final = _Discreet()


@contextmanager
def _discreet() -> Generator[None, None, None]:
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_filter)
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)
