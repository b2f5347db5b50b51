"""``moorage.toml``: which storage is mounted where."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from moorage.composite import CompositeFilesystem
from moorage.config.environment import Environment
from moorage.config.keys import dotted
from moorage.config.options import ProviderOptions
from moorage.config.validation import build_filesystem, options_class, validate_options
from moorage.errors import ConfigError, MoorageError
from moorage.paths import StoragePath
from moorage.plugins import nearest
from moorage.registry import Registry

_KEYS = ("mounts", "nested")
_LIKE = 'write [mounts."/path"] and provider = "…"'


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that was read and found right, with nothing built yet.

    Attributes:
        origin: what messages call it: the file as the caller named it.
        mounts: the options by mount path.
        places: what messages call a mount, by its path, where that is not its key in the file.
    """

    origin: str
    nested: bool
    mounts: Mapping[str, ProviderOptions]
    places: Mapping[str, str] = field(default_factory=dict[str, str])

    def place(self, mount: str) -> str:
        """What messages call this mount: its file and key, unless it is set up elsewhere."""
        return self.places.get(mount) or f"{self.origin}: {dotted(('mounts', mount))}"

    def build(self) -> CompositeFilesystem:
        """The tree, not yet opened.

        Raises:
            ConfigError: a provider refused its options, or the mounts do not fit together.
        """
        filesystems = {path: build_filesystem(options, self.place(path)) for path, options in self.mounts.items()}
        try:
            return CompositeFilesystem(filesystems, nested=self.nested)
        except MoorageError as error:
            message = error.message.replace("nested=True", "nested = true")
            raise ConfigError(f"{self.origin}: mounts: {message}") from error


def from_config(
    source: str | os.PathLike[str] | Mapping[str, object] = "moorage.toml",
    *,
    registry: Registry | None = None,
    env: Mapping[str, str] | None = None,
) -> CompositeFilesystem:
    """The tree that a configuration describes, not yet opened.

    ::

        nested = false                      # true allows a mount inside another

        [mounts."/data"]
        provider = "local"                  # see `moorage providers`
        base_path = "./data"                # relative to the directory of this file
        read_only = true
        description = "of ${USER}"          # an environment variable; write $${ for the characters ${

    Variables are put into the texts of options, at any depth, and nowhere else: not into ``provider``, not into keys.
    An empty one is refused within a longer text, and as a path.

    Args:
        source: the file, or the same content as a mapping; relative paths in a mapping are the current directory's.
        registry: where providers are looked up; by default what is installed.
        env: the environment variables; by default those of the process.

    Raises:
        ConfigError: names the file, the key, the reason and the nearest valid key; values are not shown.
    """
    return read_config(source, registry=registry, env=env).build()


def read_config(
    source: str | os.PathLike[str] | Mapping[str, object] = "moorage.toml",
    *,
    registry: Registry | None = None,
    env: Mapping[str, str] | None = None,
) -> Configuration:
    """Read and check a configuration without building anything; see :func:`from_config`."""
    if isinstance(source, Mapping):
        origin, directory, document = "configuration", None, source
    else:
        origin, directory, document = os.fspath(source), Path(source).absolute().parent, _parse(Path(source))
    for key in map(str, document):
        if key not in _KEYS:
            raise ConfigError(f"{origin}: {dotted([key])}: unknown key{nearest(key, _KEYS)}")
    nested = document.get("nested", False)
    if not isinstance(nested, bool):
        raise ConfigError(f"{origin}: nested: must be true or false")
    environment = Environment(os.environ if env is None else env, origin)
    reader = _MountReader(origin, directory, registry or Registry(), environment)
    return Configuration(origin, nested, reader.read(document.get("mounts", {})))


@dataclass(frozen=True, slots=True)
class _MountReader:
    origin: str
    directory: Path | None
    registry: Registry
    environment: Environment

    def read(self, mounts: object) -> dict[str, ProviderOptions]:
        if not isinstance(mounts, Mapping):
            raise ConfigError(f"{self.origin}: mounts: must be tables; {_LIKE}")
        if not mounts:
            raise ConfigError(f"{self.origin}: mounts: there are none; {_LIKE}")
        tables = cast("Mapping[object, object]", mounts)
        return {str(path): self._mount(str(path), table) for path, table in tables.items()}

    def _mount(self, path: str, table: object) -> ProviderOptions:
        key = ("mounts", path)
        where = f"{self.origin}: {dotted(key)}"
        try:
            StoragePath.parse(path)
        except MoorageError as error:
            raise ConfigError(f"{where}: not a mount path: {error.message}") from None
        if not isinstance(table, Mapping):
            raise ConfigError(f'{where}: must be a table: [mounts."/path"] with a provider')
        given = dict(cast("Mapping[str, object]", table))
        provider = given.pop("provider", None)
        if not isinstance(provider, str):
            raise ConfigError(self._no_provider(where, given))
        if "${" in provider:
            raise ConfigError(f"{where}.provider: takes no environment variables; name the provider itself")
        values = cast("dict[str, object]", self.environment.substitute(given, key))
        try:
            options = options_class(provider, self.registry)
        except ConfigError as error:
            raise ConfigError(f"{where}.provider: {error.message}") from error
        hidden = self.environment.used
        return validate_options(options, values, origin=self.origin, key=key, directory=self.directory, hidden=hidden)

    def _no_provider(self, where: str, values: Mapping[str, object]) -> str:
        similar = difflib.get_close_matches("provider", map(str, values), n=1)
        hint = f"; did you mean it by {similar[0]!r}?" if similar else nearest("", self.registry.providers)
        return f"{where}.provider: a provider's name is required{hint}"


def _parse(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: is not TOML: {error}") from None
