"""From checked options to one client's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage_s3 import sdk
from moorage_s3.connections import ConnectionLimits
from moorage_s3.credentials import Credentials, Fetch, called, fixed
from moorage_s3.dialect import Dialect
from moorage_s3.settings import Settings

if TYPE_CHECKING:
    from moorage_s3.options import S3Options


def settings_of(options: S3Options) -> Settings:
    """What the client is told; the environment is looked at now."""
    environment = sdk.environment()
    return Settings(
        bucket=options.bucket,
        prefix=f"{options.prefix}/" if options.prefix else "",
        region=options.region,
        endpoint_url=options.endpoint_url,
        addressing=options.addressing,
        fetch=_fetch(options, environment),
        profile=options.profile,
        environment=environment,
        conditional_write=options.conditional_write,
        probe_at_start=options.probe_at_start,
        dialect=Dialect(options.part_size, options.concurrency, new_object=_new_object(options)),
        limits=ConnectionLimits(
            options.max_connections,
            options.connect_timeout,
            options.read_timeout,
            None if options.ca_bundle is None else str(options.ca_bundle),
            None if options.proxy is None else options.proxy.get_secret_value(),
        ),
        headers=_every_request(options),
        user_agent=options.user_agent,
        retries=options.retries,
        checks_body={"auto": None, "crc32": True, "none": False}[options.checksums],
    )


def _fetch(options: S3Options, environment: dict[str, str]) -> Fetch | None:
    if options.anonymous:
        return None
    if options.credentials is not None:
        return called(options.credentials)
    if options.access_key_id is not None and options.secret_access_key is not None:
        token = options.session_token.get_secret_value() if options.session_token is not None else None
        return fixed(Credentials(options.access_key_id, options.secret_access_key.get_secret_value(), token))
    return sdk.chain(environment, options.profile)


def _new_object(options: S3Options) -> dict[str, str]:
    headers = {
        "x-amz-server-side-encryption": options.sse,
        "x-amz-server-side-encryption-aws-kms-key-id": options.kms_key_id,
        "x-amz-server-side-encryption-bucket-key-enabled": _flag(options.bucket_key),
        "x-amz-storage-class": options.storage_class,
        "x-amz-acl": options.acl,
    }
    return {name: value for name, value in headers.items() if value is not None}


def _every_request(options: S3Options) -> dict[str, str]:
    headers: dict[str, str] = {}
    if options.requester_pays:
        headers["x-amz-request-payer"] = "requester"
    if options.expected_bucket_owner is not None:
        headers["x-amz-expected-bucket-owner"] = options.expected_bucket_owner
    return headers


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()
