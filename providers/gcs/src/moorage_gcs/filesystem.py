"""A bucket of GCS, ready to hold."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from pydantic import ValidationError

from moorage import ConfigError, Filesystem, Instructions, Labels, Provider, ReadOnly
from moorage_gcs.credentials import TokenCall
from moorage_gcs.options import GCSOptions
from moorage_gcs.provider import GCSProvider
from moorage_gcs.settings import ConditionalWrite
from moorage_gcs.translating import settings_of

if TYPE_CHECKING:
    from google.auth.credentials import Credentials as GoogleCredentials
    from pydantic_core import ErrorDetails

    GivenCredentials = str | Path | Mapping[str, Any] | GoogleCredentials | TokenCall


class GCSKeywords(TypedDict, total=False):
    """The options of :class:`GCSFilesystem` that are given by name; :class:`GCSOptions` says what each does."""

    read_only: bool
    credentials_file: str | Path | None
    token: str | None
    token_file: str | Path | None
    anonymous: bool
    project: str | None
    user_project: str | None
    requester_pays: bool
    conditional_write: ConditionalWrite
    probe_at_start: bool
    check_bucket: bool
    name_checks: bool
    kms_key: str | None
    storage_class: str | None
    predefined_acl: str | None
    user_agent: str
    connect_timeout: float
    read_timeout: float
    retries: int
    max_connections: int
    chunk_size: int
    concurrency: int
    display_name: str | None
    icon: str | None
    description: str | None


class GCSFilesystem(Filesystem):
    """A bucket of Google Cloud Storage as a filesystem; asyncio only.

    Args:
        bucket: its name.
        prefix: the part of the bucket that is the root, written like a path.
        endpoint_url: of an emulator or a private endpoint; by default ``STORAGE_EMULATOR_HOST``, or Google.
        credentials: a key file's path or content, ``"anonymous"``, an object of google-auth, or a function that returns
            an access token; by default Google's chain finds them, and a plain ``http`` endpoint gets none.
        instructions: a text for models in place of the default one.
        options: see :class:`GCSOptions`.

    Raises:
        ConfigError: an option is unknown, wrong, or contradicts another; names it and shows no value.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        endpoint_url: str | None = None,
        credentials: GivenCredentials | None = None,
        *,
        instructions: Instructions | None = None,
        **options: Unpack[GCSKeywords],
    ) -> None:
        given: dict[str, object] = {"endpoint_url": endpoint_url, "credentials": credentials, **options}
        known = {name: value for name, value in given.items() if value is not None}
        self._set_up(_validated({"bucket": bucket, "prefix": prefix, **known}), instructions)

    @classmethod
    def from_options(cls, options: GCSOptions) -> Self:
        """The filesystem of checked options."""
        filesystem = cls.__new__(cls)
        filesystem._set_up(options, None)
        return filesystem

    def _set_up(self, options: GCSOptions, instructions: Instructions | None) -> None:
        provider: Provider = GCSProvider(settings_of(options), name_checks=options.name_checks)
        if options.read_only:
            provider = ReadOnly(provider)
        labels = Labels(options.display_name, options.icon, options.description)
        super().__init__(provider, labels=labels, instructions=instructions)


def _validated(values: Mapping[str, object]) -> GCSOptions:
    try:
        return GCSOptions.model_validate(dict(values))
    except ValidationError as error:
        reasons = [_reason(detail) for detail in error.errors(include_url=False, include_input=False)]
    raise ConfigError(f"GCSFilesystem: {'; '.join(reasons)}")


def _reason(detail: ErrorDetails) -> str:
    name = str(detail["loc"][0]) if detail["loc"] else ""
    if detail["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, GCSOptions.model_fields)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        return f"{name}: unknown option{hint}"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{name}: {message}" if name else message
