"""What one command line was asked for: the global options, and the tree they describe."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from moorage.cli.output import Output
from moorage.composite import CompositeFilesystem
from moorage.config import Configuration, ProviderOptions, options_from_url, read_config
from moorage.errors import ConfigError
from moorage.paths import StoragePath
from moorage.registry import Registry

FILE_NAME: Final = "moorage.toml"
VARIABLE: Final = "MOORAGE_CONFIG"

_MOUNT: Final = re.compile(r"(/.*?)=([a-z][a-z0-9+.-]*://.*)", re.DOTALL)


class Session:
    """The options that every command takes, and what follows from them. Plug-in commands find it as ``ctx.obj``."""

    def __init__(self, registry: Registry, output: Output) -> None:
        self.registry = registry
        self.output = output
        self.debug = False
        self._config: Path | None = None
        self._mounts: list[str] = []

    def configure(self, config: Path | None, mounts: Sequence[str], *, debug: bool) -> None:
        """Take what was given before or after the command's name; the later file wins, mounts add up."""
        self._config = config or self._config
        self._mounts += mounts
        self.debug = self.debug or debug

    def config_file(self) -> Path | None:
        """``--config``, else ``$MOORAGE_CONFIG``, else the nearest ``moorage.toml`` here or above; or none."""
        if self._config is not None:
            return self._config
        if named := os.environ.get(VARIABLE):
            return Path(named)
        here = Path.cwd()
        return next((found for place in (here, *here.parents) if (found := place / FILE_NAME).is_file()), None)

    def configuration(self) -> Configuration:
        """The mounts of the file and of ``--mount``; of two on one path the latter.

        Raises:
            ConfigError: there is neither, or something is wrong in one of them.
        """
        file = self.config_file()
        added = dict(self._added_mount(text) for text in self._mounts)
        if file is None:
            if not added:
                raise ConfigError(
                    f"no {FILE_NAME} here or above; `moorage init` writes one, and --mount /path=URL does without"
                )
            return Configuration("--mount", nested=False, mounts=added)
        configured = read_config(file, registry=self.registry)
        if not added:
            return configured
        kept = {path: options for path, options in configured.mounts.items() if _canonical(path) not in added}
        return replace(configured, origin=f"{configured.origin} with --mount", mounts={**kept, **added})

    def tree(self, extra: Mapping[str, ProviderOptions] | None = None) -> CompositeFilesystem:
        """The tree, not yet opened, with ``extra`` mounts that need not fit the others.

        Raises:
            ConfigError: as :meth:`configuration`, or a provider refused its options.
        """
        configuration = self.configuration()
        tree = configuration.build()
        if not extra:
            return tree
        return replace(configuration, nested=True, mounts={**configuration.mounts, **extra}).build()

    def _added_mount(self, text: str) -> tuple[str, ProviderOptions]:
        found = _MOUNT.fullmatch(text)
        if found is None:
            raise ConfigError("--mount: write it as /path=scheme://…, like --mount /scratch=memory://")
        return _canonical(found[1]), options_from_url(found[2], registry=self.registry)


def _canonical(path: str) -> str:
    return str(StoragePath.parse(path))
