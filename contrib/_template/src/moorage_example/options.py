"""The options in ``moorage.toml`` and in URLs: ``example:///srv/data.sqlite?read_only=true``."""

from pathlib import Path
from urllib.parse import SplitResult, unquote

from pydantic import Field

from moorage import ConfigError, ProviderOptions
from moorage_example.provider import ExampleFilesystem


class ExampleOptions(ProviderOptions):
    file: Path = Field(description="the database; made when it is missing")

    def build(self) -> ExampleFilesystem:
        return ExampleFilesystem(
            self.file,
            self.read_only,
            display_name=self.display_name,
            icon=self.icon,
            description=self.description,
        )

    @classmethod
    def from_url(cls, url: SplitResult) -> dict[str, object]:
        if url.netloc or not url.path:
            raise ConfigError("write it with three slashes: example:///path/of/the.sqlite")
        return {"file": unquote(url.path)}
