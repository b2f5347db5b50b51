"""``provider = "local"`` and ``local:///…``."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import SplitResult, unquote

from pydantic import Field

from moorage import ConfigError, ProviderOptions
from moorage_local.filesystem import LocalFilesystem


class LocalOptions(ProviderOptions):
    """A directory of this machine.

    URLs: ``local:///absolute/path``, ``local://./relative/path`` and ``local://~/below/home``; options in the query.
    """

    base_path: Path
    durable: bool = False
    lock_timeout: float = Field(default=30.0, ge=0)

    def build(self) -> LocalFilesystem:
        return LocalFilesystem(
            self.base_path,
            self.read_only,
            durable=self.durable,
            lock_timeout=self.lock_timeout,
            display_name=self.display_name,
            icon=self.icon,
            description=self.description,
        )

    @classmethod
    def from_url(cls, url: SplitResult) -> dict[str, object]:
        if url.netloc not in ("", ".", "..", "~"):
            raise ConfigError("local:// takes a path and no host: local:///absolute/path or local://./relative/path")
        path = unquote(url.netloc + url.path, errors="strict")
        if not path or "\0" in path:
            raise ConfigError("local:// needs a path: local:///absolute/path or local://./relative/path")
        return {"base_path": path}
