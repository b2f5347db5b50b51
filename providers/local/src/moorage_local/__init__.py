"""Local disk as a Moorage provider: contained, atomic, and safe between processes."""

from moorage_local.filesystem import LocalFilesystem
from moorage_local.provider import LocalProvider

__all__ = ["LocalFilesystem", "LocalProvider"]
