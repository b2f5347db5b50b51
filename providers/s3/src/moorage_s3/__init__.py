"""S3 and S3-compatible stores as a Moorage provider: exact conditions, few requests, fast."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage_s3.credentials import Credentials
    from moorage_s3.filesystem import S3Filesystem
    from moorage_s3.options import S3Options
    from moorage_s3.provider import S3Provider

_LAZY = {
    "Credentials": "moorage_s3.credentials",
    "S3Filesystem": "moorage_s3.filesystem",
    "S3Options": "moorage_s3.options",
    "S3Provider": "moorage_s3.provider",
}
"""Names whose modules load at first use, so that the plug-in beside them is cheap to find."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'moorage_s3' has no attribute {name!r}")
    value: object = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


__all__ = ["Credentials", "S3Filesystem", "S3Options", "S3Provider"]
