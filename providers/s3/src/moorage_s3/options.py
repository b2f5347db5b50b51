"""``provider = "s3"`` and ``s3://bucket/prefix?region=…``: every option, checked before anything is opened."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, Self
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import AliasChoices, Field, FilePath, SecretStr, StringConstraints, field_validator, model_validator

from moorage import ConfigError, InvalidPathError, ProviderOptions, StoragePath
from moorage_s3.addressing import Addressing, fits_host, is_http
from moorage_s3.credentials import CredentialsCall
from moorage_s3.dialect import MIB, ConditionalWrite

if TYPE_CHECKING:
    from moorage_s3.filesystem import S3Filesystem

Encryption = Literal["AES256", "aws:kms", "aws:kms:dsse"]
Word = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=2048)]
"""A text that can stand in a header."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_REGION = r"^[A-Za-z0-9_-]{1,64}$"
_SMALLEST_PART = 5 * MIB
_NO_URL = "an http:// or https:// URL without query and fragment is wanted"


class S3Options(ProviderOptions):
    """A bucket of S3 or of a store that speaks like it, and how to use it.

    URLs: ``s3://bucket/prefix``; other options in the query. Without credentials the SDK's default chain finds them;
    ``anonymous`` signs nothing. Sizes are in bytes, times in seconds.

    Attributes:
        prefix: the part of the bucket that is the root, written like a path.
        endpoint_url: of an S3-compatible store, or of a private endpoint.
        credentials: a function, async or not, that returns :class:`moorage_s3.Credentials`; for programs only.
        addressing: ``"auto"`` is virtual-host style on AWS and path style elsewhere.
        conditional_write: ``"probe"`` asks the store, before the first write with an expectation, whether it refuses
            stale ones, and refuses such writes where it does not; ``"guarded"`` checks just before writing there
            instead; ``"atomic"`` believes the store unasked; ``"none"`` refuses expectations unasked.
        probe_at_start: ask when the filesystem opens.
        name_checks: see :class:`moorage.ObjectStoreProvider`.
        bucket_key: use the bucket's key with KMS.
        retries: further attempts after throttling, a failing server or a lost connection.
        max_connections: of one filesystem on one event loop.
        part_size: bytes from which a body is sent in parts of this size; S3 wants at least 5 MiB.
        concurrency: most parts of one transfer at once; a streamed one keeps so many in memory.
        checksums: ``"crc32"`` sends one with each body and checks it on the way back; ``"auto"`` does so on AWS.
            Without, TLS or the signature covers the body on its way.
        ca_bundle: certificates to trust instead of the system's.
        expected_bucket_owner: account id; any other owner's bucket is refused by AWS.
    """

    bucket: str
    prefix: str = ""
    region: str | None = Field(default=None, pattern=_REGION)
    endpoint_url: str | None = None
    access_key_id: Word | None = Field(default=None, repr=False, validation_alias=AliasChoices("access_key_id", "key"))
    secret_access_key: SecretStr | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("secret_access_key", "secret")
    )
    session_token: SecretStr | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("session_token", "token")
    )
    profile: str | None = Field(default=None, min_length=1)
    credentials: CredentialsCall | None = Field(default=None, repr=False, exclude=True)
    anonymous: bool = False
    addressing: Addressing = "auto"
    conditional_write: ConditionalWrite = "probe"
    probe_at_start: bool = False
    name_checks: bool = True
    sse: Encryption | None = None
    kms_key_id: Word | None = None
    bucket_key: bool | None = None
    storage_class: Word | None = None
    acl: Word | None = None
    requester_pays: bool = False
    expected_bucket_owner: str | None = Field(default=None, pattern=r"^\d{12}$")
    user_agent: str = Field(default="moorage-s3", pattern=r"^[\x20-\x7e]{1,256}$")
    connect_timeout: float = Field(default=10.0, gt=0, le=600)
    read_timeout: float = Field(default=60.0, gt=0, le=3600)
    retries: int = Field(default=4, ge=0, le=20)
    max_connections: int = Field(default=64, ge=1, le=4096)
    part_size: int = Field(default=8 * MIB, ge=_SMALLEST_PART, le=5 << 30)
    concurrency: int = Field(default=4, ge=1, le=64)
    checksums: Literal["auto", "crc32", "none"] = "auto"
    ca_bundle: FilePath | None = None
    proxy: SecretStr | None = None

    def __getstate__(self) -> NoReturn:
        raise TypeError("options hold secrets, and are not pickled")

    @field_validator("bucket")
    @classmethod
    def _check_bucket(cls, bucket: str) -> str:
        if _BUCKET.fullmatch(bucket) is None or ".." in bucket:
            raise ValueError("no name of a bucket: 3 to 255 letters, digits, dots, dashes and underscores")
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
    def _check_endpoint(cls, url: str | None) -> str | None:
        if url is not None and not is_http(url):
            raise ValueError(_NO_URL)
        return None if url is None else url.rstrip("/")

    @field_validator("proxy")
    @classmethod
    def _check_proxy(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not is_http(url.get_secret_value()):
            raise ValueError(_NO_URL)
        return url

    @model_validator(mode="after")
    def _check_contradictions(self) -> Self:
        for reason in (*self._identity_faults(), *self._store_faults()):
            raise ValueError(reason)
        return self

    def _identity_faults(self) -> list[str]:
        faults: list[str] = []
        if (self.access_key_id is None) is not (self.secret_access_key is None):
            missing, given = (
                ("secret_access_key", "access_key_id") if self.access_key_id else ("access_key_id", "secret_access_key")
            )
            faults.append(f"{missing}: is needed with {given}")
        if self.session_token is not None and self.access_key_id is None:
            faults.append("session_token: needs access_key_id and secret_access_key")
        ways = {
            "access_key_id": self.access_key_id is not None,
            "profile": self.profile is not None,
            "credentials": self.credentials is not None,
            "anonymous": self.anonymous,
        }
        chosen = [name for name, is_chosen in ways.items() if is_chosen]
        if len(chosen) > 1:
            faults.append(f"{' and '.join(chosen)}: only one of them says who asks")
        if self.anonymous and self.requester_pays:
            faults.append("requester_pays: nobody is there to pay with anonymous=True")
        return faults

    def _store_faults(self) -> list[str]:
        faults: list[str] = []
        if self.endpoint_url is not None and "@" in urlsplit(self.endpoint_url).netloc:
            faults.append("endpoint_url: holds credentials; give them as access_key_id and secret_access_key")
        if self.kms_key_id is not None and self.sse in (None, "AES256"):
            faults.append("kms_key_id: needs sse='aws:kms' or 'aws:kms:dsse'")
        if self.bucket_key is not None and self.sse != "aws:kms":
            faults.append("bucket_key: needs sse='aws:kms'")
        if self.addressing == "virtual" and not self._can_be_host():
            faults.append("addressing: this bucket's name or this endpoint cannot be part of a host name; use 'path'")
        if self.probe_at_start and self.conditional_write in ("atomic", "none"):
            faults.append(f"probe_at_start: conditional_write={self.conditional_write!r} leaves nothing to ask")
        return faults

    def _can_be_host(self) -> bool:
        host = urlsplit(self.endpoint_url or "").hostname or ""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return fits_host(self.bucket) or (self.bucket.islower() and "_" not in self.bucket)
        return False

    def build(self) -> S3Filesystem:
        from moorage_s3.filesystem import S3Filesystem

        return S3Filesystem.from_options(self)

    @classmethod
    def from_url(cls, url: SplitResult) -> dict[str, object]:
        if not url.netloc or "@" in url.netloc or ":" in url.netloc:
            raise ConfigError("s3:// takes a bucket and a prefix: s3://bucket/prefix?region=…")
        return {"bucket": url.netloc, "prefix": unquote(url.path, errors="strict")}
