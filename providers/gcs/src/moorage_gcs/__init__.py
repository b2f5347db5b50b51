"""Google Cloud Storage as a Moorage provider: exact conditions, few requests, bytes as stored."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage_gcs.filesystem import GCSFilesystem
    from moorage_gcs.options import GCSOptions
    from moorage_gcs.provider import GCSProvider

_LAZY = {
    "GCSFilesystem": "moorage_gcs.filesystem",
    "GCSOptions": "moorage_gcs.options",
    "GCSProvider": "moorage_gcs.provider",
}
"""Names whose modules load at first use, so that the plug-in costs next to nothing."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'moorage_gcs' has no attribute {name!r}")
    value: object = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


__all__ = ["GCSFilesystem", "GCSOptions", "GCSProvider"]
