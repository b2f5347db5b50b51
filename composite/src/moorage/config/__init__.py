"""``moorage.toml`` and URLs, turned into filesystems. The only place of core that knows pydantic and TOML."""

from moorage.config.document import Configuration, from_config, read_config
from moorage.config.options import ProviderOptions
from moorage.config.urls import open_url, options_from_url

__all__ = ["Configuration", "ProviderOptions", "from_config", "open_url", "options_from_url", "read_config"]
