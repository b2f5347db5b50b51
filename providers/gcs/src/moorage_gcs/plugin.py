"""The plug-in of this package."""

from __future__ import annotations

from moorage import ProviderSpec, hookimpl


@hookimpl
def moorage_providers() -> list[ProviderSpec]:
    options = "moorage_gcs.options:GCSOptions"
    return [
        ProviderSpec("gcs", "A bucket on Google Cloud Storage", options),
        ProviderSpec("gs", "A bucket on Google Cloud Storage, as Google's tools write it", options),
    ]
