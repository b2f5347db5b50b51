"""Which endpoint and region a client talks to."""

from __future__ import annotations

import re
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import anyio.to_thread

from moorage_s3 import sdk
from moorage_s3.addressing import Place, place
from moorage_s3.settings import Settings

_FIRST_REGION: Final = "us-east-1"
_OF_AWS: Final = re.compile(r"(?:.*\.)?s3[.-](?:.*\.)?amazonaws\.com(?:\.cn)?")


async def locate(settings: Settings) -> Place:
    """The place of the bucket. Without any hint the first region is asked, which says where the bucket is.

    Raises:
        ConfigError: the profile does not exist.
    """
    own = settings.endpoint_url or sdk.configured_endpoint(settings.environment)
    region = settings.region
    if region is None:
        if own is None or settings.profile is not None:
            region = await anyio.to_thread.run_sync(
                partial(sdk.configured_region, settings.environment, settings.profile)
            )
        else:
            region = settings.environment.get("AWS_REGION") or settings.environment.get("AWS_DEFAULT_REGION")
    asked = region or _FIRST_REGION
    if own is not None:
        return place(settings.bucket, own, asked, settings.addressing, is_own=True)
    endpoint = await anyio.to_thread.run_sync(sdk.endpoint_of_region, asked)
    return place(settings.bucket, endpoint, asked, settings.addressing, is_own=False)


def store_identity(settings: Settings) -> str:
    """Endpoint and bucket; one text for AWS, where a bucket's name is its own in all regions."""
    own = settings.endpoint_url or sdk.configured_endpoint(settings.environment)
    if own is None or is_aws(own):
        return f"s3.amazonaws.com/{settings.bucket}"
    parts = urlsplit(own)
    return f"{parts.netloc.lower()}{parts.path.rstrip('/')}/{settings.bucket}"


def is_aws(endpoint: str) -> bool:
    """Whether this is one of AWS's own endpoints."""
    return _OF_AWS.fullmatch(urlsplit(endpoint).hostname or "") is not None
