"""``provider = "gcs"`` and ``gs://bucket/prefix``: every option, checked before anything is opened."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Self, cast
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import Field, Secret, SecretStr, StringConstraints, field_validator, model_validator

from moorage import ConfigError, InvalidPathError, ProviderOptions, StoragePath
from moorage_gcs.settings import MIB, ConditionalWrite

if TYPE_CHECKING:
    from moorage_gcs.filesystem import GCSFilesystem

Word = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=2048)]
"""A text that can stand in a query or a header."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_GRANULE = 256 * 1024
_ANONYMOUS = frozenset({"anon", "anonymous"})
_WAYS = ("credentials", "credentials_file", "token", "token_file", "anonymous")


class GCSOptions(ProviderOptions):
    """A bucket of Google Cloud Storage, and how to use it.

    URLs: ``gs://bucket/prefix`` or ``gcs://bucket/prefix``; other options in the query. Without credentials Google's
    default chain finds them (the environment, gcloud, the machine), but an endpoint that is not ``https`` is used
    without any. Sizes are in bytes, times in seconds.

    Attributes:
        prefix: the part of the bucket that is the root, written like a path.
        endpoint_url: of an emulator or a private endpoint; by default ``STORAGE_EMULATOR_HOST``, or Google.
        credentials: the content of a key file as a table, the path of one, ``"anonymous"``, an object of google-auth,
            or a function, async or not, that returns an access token, or one and the time at which it runs out.
        credentials_file: the path of a key file, of a service account or a user.
        token: an access token; it is not renewed.
        token_file: a file that holds one, read again every few minutes.
        project: of the requests; the one that pays where ``requester_pays``.
        user_project: the project that pays for the requests.
        conditional_write: ``"probe"`` believes Google, and asks any other server, before the first write with an
            expectation, whether it refuses stale ones; such writes are refused where it does not. ``"guarded"`` checks
            just before writing there instead; ``"atomic"`` believes every server unasked; ``"none"`` refuses
            expectations unasked.
        probe_at_start: ask when the filesystem opens.
        check_bucket: look whether the bucket answers when the filesystem opens.
        name_checks: see :class:`moorage.ObjectStoreProvider`.
        retries: further attempts after throttling, a failing server or a lost connection.
        max_connections: of one filesystem on one event loop.
        chunk_size: bytes from which a body is sent in chunks of this size; a multiple of 256 KiB.
        concurrency: most requests of one large operation at once; a large download keeps so many chunks in memory.
    """

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    credentials: Secret[Any] | None = None
    credentials_file: Path | None = None
    token: SecretStr | None = None
    token_file: Path | None = None
    anonymous: bool = False
    project: Word | None = None
    user_project: Word | None = None
    requester_pays: bool = False
    conditional_write: ConditionalWrite = "probe"
    probe_at_start: bool = False
    check_bucket: bool = True
    name_checks: bool = True
    kms_key: Word | None = None
    storage_class: Word | None = None
    predefined_acl: Word | None = None
    user_agent: str = Field(default="moorage-gcs", pattern=r"^[\x20-\x7e]{1,256}$")
    connect_timeout: float = Field(default=10.0, gt=0, le=600)
    read_timeout: float = Field(default=60.0, gt=0, le=3600)
    retries: int = Field(default=5, ge=0, le=20)
    max_connections: int = Field(default=64, ge=1, le=4096)
    chunk_size: int = Field(default=8 * MIB, ge=_GRANULE, le=1 << 30, multiple_of=_GRANULE)
    concurrency: int = Field(default=4, ge=1, le=64)

    def __getstate__(self) -> NoReturn:
        raise TypeError("options hold secrets, and are not pickled")

    @model_validator(mode="before")
    @classmethod
    def _sort_credentials(cls, values: object) -> object:
        """A text under ``credentials`` is a path, or says that there are none."""
        if not isinstance(values, dict):
            return values
        given = cast("dict[str, Any]", values)
        value = given.get("credentials")
        for name in ("credentials", "credentials_file", "token_file"):
            if isinstance(given.get(name), str) and given[name].lstrip().startswith("{"):
                raise ValueError(f"{name}: a path is wanted; the content of a key goes into credentials, as a table")
        if not isinstance(value, str | Path):
            return given
        rest = {name: other for name, other in given.items() if name != "credentials"}
        if value in _ANONYMOUS:
            return {**rest, "anonymous": True}
        if "credentials_file" in rest:
            raise ValueError("credentials and credentials_file: only one of them says who asks")
        return {**rest, "credentials_file": value}

    @field_validator("bucket")
    @classmethod
    def _check_bucket(cls, bucket: str) -> str:
        if _BUCKET.fullmatch(bucket) is None or ".." in bucket:
            raise ValueError("no name of a bucket: 3 to 222 lower-case letters, digits, dots, dashes and underscores")
        return bucket

    @field_validator("prefix")
    @classmethod
    def _check_prefix(cls, prefix: str) -> str:
        try:
            return StoragePath.parse(prefix).relative
        except InvalidPathError as error:
            reason = error.message
        raise ValueError(f"written like a path: {reason}")

    @field_validator("endpoint_url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        try:
            parts = urlsplit(url)
            is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            raise ValueError("an http:// or https:// URL is wanted") from None
        if not is_plain or not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError("an http:// or https:// URL is wanted")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("takes no query, no fragment and no user")
        return url.rstrip("/")

    @field_validator("credentials")
    @classmethod
    def _check_credentials(cls, credentials: Secret[Any] | None) -> Secret[Any] | None:
        value = None if credentials is None else credentials.get_secret_value()
        if value is None or isinstance(value, dict) or callable(value) or hasattr(value, "before_request"):
            return credentials
        raise ValueError("a key, its path, 'anonymous', an object of google-auth or a function is wanted")

    @model_validator(mode="after")
    def _check_contradictions(self) -> Self:
        for reason in self._faults():
            raise ValueError(reason)
        return self

    def _faults(self) -> list[str]:
        faults: list[str] = []
        chosen = [name for name in _WAYS if getattr(self, name) not in (None, False)]
        if len(chosen) > 1:
            faults.append(f"{' and '.join(chosen)}: only one of them says who asks")
        if self.requester_pays and self.project is None and self.user_project is None:
            faults.append("requester_pays: needs project or user_project, which pays")
        if chosen and chosen != ["anonymous"] and not is_private(self.endpoint_url):
            faults.append(f"endpoint_url: {chosen[0]} would be sent in clear; https:// is wanted")
        if self.probe_at_start and self.conditional_write in ("atomic", "none"):
            faults.append(f"probe_at_start: conditional_write={self.conditional_write!r} leaves nothing to ask")
        return faults

    def build(self) -> GCSFilesystem:
        from moorage_gcs.filesystem import GCSFilesystem

        return GCSFilesystem.from_options(self)

    @classmethod
    def from_url(cls, url: SplitResult) -> dict[str, object]:
        if not url.netloc or "@" in url.netloc or ":" in url.netloc:
            raise ConfigError(f"{url.scheme}:// takes a bucket and a prefix: {url.scheme}://bucket/prefix")
        return {"bucket": url.netloc, "prefix": unquote(url.path, errors="strict")}


def is_private(url: str | None) -> bool:
    """Whether nobody on the way can read what is sent there."""
    parts = urlsplit(url or "https://")
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
