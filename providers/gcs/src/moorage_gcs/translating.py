"""From checked options to one client's settings."""

from __future__ import annotations

from typing import cast

from moorage import ConfigError
from moorage_gcs import sdk
from moorage_gcs.credentials import Credentials
from moorage_gcs.options import GCSOptions, is_private
from moorage_gcs.placing import Placing
from moorage_gcs.sending import SendingOptions
from moorage_gcs.settings import Settings


def settings_of(options: GCSOptions) -> Settings:
    """What the client is told; the environment is looked at now."""
    found, is_emulator = sdk.default_endpoint()
    endpoint = options.endpoint_url or found
    is_google = options.endpoint_url is None and not is_emulator
    credentials = _credentials(options, endpoint)
    if credentials.kind != "anonymous" and not is_private(endpoint):
        raise ConfigError("STORAGE_EMULATOR_HOST: credentials would be sent there in clear; https:// is wanted")
    payer = options.user_project or (options.project if options.requester_pays else None)
    return Settings(
        bucket=options.bucket,
        endpoint=endpoint.rstrip("/"),
        credentials=credentials,
        prefix=f"{options.prefix}/" if options.prefix else "",
        is_google=is_google or endpoint.endswith(".googleapis.com"),
        project=options.project,
        conditional_write=options.conditional_write,
        probe_at_start=options.probe_at_start,
        check_bucket=options.check_bucket,
        placing=Placing(options.kms_key, options.storage_class, options.predefined_acl),
        limits=sdk.ConnectionLimits(options.max_connections, options.connect_timeout, options.read_timeout),
        sending=SendingOptions(options.retries, options.user_agent, {"userProject": payer} if payer else {}),
        chunk_size=options.chunk_size,
        concurrency=options.concurrency,
    )


def _credentials(options: GCSOptions, endpoint: str) -> Credentials:
    if options.anonymous:
        return Credentials("anonymous")
    if options.token is not None:
        return Credentials("token", options.token.get_secret_value())
    if options.token_file is not None:
        return Credentials("token_file", options.token_file)
    if options.credentials_file is not None:
        return Credentials("key_file", options.credentials_file)
    if options.credentials is not None:
        value: object = options.credentials.get_secret_value()
        if isinstance(value, dict):
            return Credentials("key", cast("dict[str, object]", value))
        return Credentials("google" if hasattr(value, "before_request") else "call", value)
    return Credentials("default" if endpoint.startswith("https://") else "anonymous")
