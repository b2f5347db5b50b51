"""What one command line was asked for: the global options, and the tree they describe."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from moorage.cli.failures import exit_code
from moorage.cli.output import Output
from moorage.composite import CompositeFilesystem
from moorage.config import Configuration, ProviderOptions, options_from_url, read_config
from moorage.errors import ConfigError, MoorageError
from moorage.models import ProviderStatus
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
        self._opened: tuple[CompositeFilesystem, Configuration] | None = None

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
        """The mounts of the file and of ``--mount``.

        Raises:
            ConfigError: there is neither, something is wrong in one of them, or two are at one path.
        """
        file = self.config_file()
        added = self._added_mounts()
        places = {path: f"--mount {path}" for path in added}
        if file is None:
            if not added:
                raise ConfigError(
                    f"no {FILE_NAME} here or above; `moorage init` writes one, and --mount /path=URL does without"
                )
            return Configuration("--mount", nested=False, mounts=added, places=places)
        configured = read_config(file, registry=self.registry)
        if not added:
            return configured
        for path in configured.mounts:
            if (canonical := _canonical(path)) in added:
                raise ConfigError(f"--mount {canonical}: something is there already, by {configured.place(path)}")
            places[path] = configured.place(path)
        mounts = {**configured.mounts, **added}
        return replace(configured, origin=f"{configured.origin} with --mount", mounts=mounts, places=places)

    def tree(self, extra: Mapping[str, ProviderOptions] | None = None) -> CompositeFilesystem:
        """The tree, not yet opened, with ``extra`` mounts that need not fit the others.

        Raises:
            ConfigError: as :meth:`configuration`, or a provider refused its options.
        """
        configuration = self.configuration()
        tree = configuration.build()
        if extra:
            tree = replace(configuration, nested=True, mounts={**configuration.mounts, **extra}).build()
        self._opened = (tree, configuration)
        return tree

    def problem(self, error: MoorageError) -> int:
        """Report a failure, with what configured the mount if it could not be opened; the exit code it stands for."""
        if self.debug:
            traceback.print_exception(error)
        if place := self._place_of_unopened(error.path):
            error.message = f"{error.message} ({place})"
        self.output.problem(error)
        return exit_code(error)

    def _place_of_unopened(self, text: str | None) -> str | None:
        """Where the mount that holds this path is configured, if it is one that did not open."""
        if self._opened is None or text is None:
            return None
        tree, configuration = self._opened
        try:
            path = StoragePath.parse(text)
        except MoorageError:
            return None
        holding = [mount for mount in tree.mounts() if path.is_within(mount.path)]
        mount = max(holding, key=lambda mount: len(mount.path.parts), default=None)
        if mount is None or mount.status is not ProviderStatus.ERROR:
            return None
        written = (written for written in configuration.mounts if StoragePath.parse(written) == mount.path)
        return next((configuration.place(path) for path in written), None)

    def _added_mounts(self) -> dict[str, ProviderOptions]:
        added: dict[str, ProviderOptions] = {}
        for text in self._mounts:
            path, options = self._added_mount(text)
            if path in added:
                raise ConfigError(f"--mount {path}: given twice")
            added[path] = options
        return added

    def _added_mount(self, text: str) -> tuple[str, ProviderOptions]:
        found = _MOUNT.fullmatch(text)
        if found is None:
            raise ConfigError("--mount: write it as /path=scheme://…, like --mount /scratch=memory://")
        return _canonical(found[1]), options_from_url(found[2], registry=self.registry)


def _canonical(path: str) -> str:
    return str(StoragePath.parse(path))
