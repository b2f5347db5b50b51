"""The plug-in of this package."""

from __future__ import annotations

from moorage import ProviderSpec, hookimpl


@hookimpl
def moorage_providers() -> list[ProviderSpec]:
    return [ProviderSpec("s3", "A bucket on S3 or an S3-compatible store", "moorage_s3.options:S3Options")]
