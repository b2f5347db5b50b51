"""A bucket of S3, ready to hold."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack

from pydantic import ValidationError

from moorage import ConfigError, Filesystem, Instructions, Labels, Provider, ReadOnly
from moorage_s3.addressing import Addressing
from moorage_s3.credentials import CredentialsCall
from moorage_s3.dialect import ConditionalWrite
from moorage_s3.options import Encryption, S3Options
from moorage_s3.provider import S3Provider
from moorage_s3.translating import settings_of

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class S3Keywords(TypedDict, total=False):
    """The options of :class:`S3Filesystem` that are given by name; :class:`S3Options` says what each does."""

    read_only: bool
    key: str | None
    secret: str | None
    session_token: str | None
    token: str | None
    profile: str | None
    credentials: CredentialsCall | None
    anonymous: bool
    addressing: Addressing
    conditional_write: ConditionalWrite
    probe_at_start: bool
    name_checks: bool
    sse: Encryption | None
    kms_key_id: str | None
    bucket_key: bool | None
    storage_class: str | None
    acl: str | None
    requester_pays: bool
    expected_bucket_owner: str | None
    user_agent: str
    connect_timeout: float
    read_timeout: float
    retries: int
    max_connections: int
    part_size: int
    concurrency: int
    checksums: Literal["auto", "crc32", "none"]
    ca_bundle: str | Path | None
    proxy: str | None
    display_name: str | None
    icon: str | None
    description: str | None


class S3Filesystem(Filesystem):
    """A bucket of S3, or of a store that speaks like it, as a filesystem; asyncio only.

    Args:
        bucket: its name.
        prefix: the part of the bucket that is the root, written like a path.
        region, endpoint_url: where it is; by default the environment and the SDK's configuration decide.
        access_key_id, secret_access_key: who asks (``key`` and ``secret`` are accepted too); by default the SDK's
            chain finds out. What the environment holds now counts, whatever it holds later.
        instructions: a text for models in place of the default one.
        options: see :class:`S3Options`.

    Raises:
        ConfigError: an option is unknown, wrong, or contradicts another; names it and shows no value.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        region: str | None = None,
        endpoint_url: str | None = None,
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
        *,
        instructions: Instructions | None = None,
        **options: Unpack[S3Keywords],
    ) -> None:
        given: dict[str, object] = {
            "region": region,
            "endpoint_url": endpoint_url,
            "access_key_id": access_key_id,
            "secret_access_key": secret_access_key,
            **options,
        }
        known = {name: value for name, value in given.items() if value is not None}
        self._set_up(_validated({"bucket": bucket, "prefix": prefix, **known}), instructions)

    @classmethod
    def from_options(cls, options: S3Options) -> Self:
        """The filesystem of checked options."""
        filesystem = cls.__new__(cls)
        filesystem._set_up(options, None)
        return filesystem

    def _set_up(self, options: S3Options, instructions: Instructions | None) -> None:
        provider: Provider = S3Provider(settings_of(options), name_checks=options.name_checks)
        if options.read_only:
            provider = ReadOnly(provider)
        labels = Labels(options.display_name, options.icon, options.description)
        super().__init__(provider, labels=labels, instructions=instructions)


def _validated(values: Mapping[str, object]) -> S3Options:
    twice = [names for names in _ALIASES if all(name in values for name in names)]
    if twice:
        raise ConfigError(f"S3Filesystem: {twice[0][1]}: {twice[0][0]} is given, too")
    try:
        return S3Options.model_validate(dict(values))
    except ValidationError as error:
        reasons = [_reason(detail) for detail in error.errors(include_url=False, include_input=False)]
    raise ConfigError(f"S3Filesystem: {'; '.join(reasons)}")


_ALIASES = (("access_key_id", "key"), ("secret_access_key", "secret"), ("session_token", "token"))


def _reason(detail: ErrorDetails) -> str:
    name = str(detail["loc"][0]) if detail["loc"] else ""
    if detail["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, [*S3Options.model_fields, *(alias for _, alias in _ALIASES)])
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        return f"{name}: unknown option{hint}"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{name}: {message}" if name else message
