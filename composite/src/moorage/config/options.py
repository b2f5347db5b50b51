"""The options of one kind of storage: one model for ``moorage.toml``, for URLs and for programs."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast
from urllib.parse import SplitResult

from pydantic import BaseModel, ConfigDict, ValidationInfo, ValidatorFunctionWrapHandler, field_validator

from moorage.errors import ConfigError

if TYPE_CHECKING:
    from moorage.filesystem import Filesystem

DIRECTORY = "directory"
"""The key of the validation context that holds the directory of the configuration file."""


class ProviderOptions(BaseModel):
    """What a provider's author subclasses: fields are the options, :meth:`build` makes the filesystem.

    Unknown options are refused, instances are frozen, and error texts never show a value. Declare a secret as
    ``pydantic.SecretStr``, so that nothing else shows it either. A field of type ``pathlib.Path`` may start with
    ``~``, and when it comes from a file and is relative, it is relative to the directory of that file. An empty text is
    no path.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=True)

    read_only: bool = False
    display_name: str | None = None
    icon: str | None = None
    description: str | None = None

    @abstractmethod
    def build(self) -> Filesystem:
        """The filesystem with these options, not yet opened; does no I/O."""

    @classmethod
    def from_url(cls, url: SplitResult) -> dict[str, object]:
        """The options that the host and path of a URL stand for; the query is added by the caller.

        By default there are none, and a host or path is refused. Parts are as written: still percent-encoded.

        Raises:
            ConfigError: the URL makes no sense for this kind of storage; the message must not quote it.
        """
        if url.netloc or url.path.strip("/"):
            raise ConfigError(f"{url.scheme}:// takes neither host nor path")
        return {}

    @field_validator("*", mode="wrap")
    @classmethod
    def _resolve_path(cls, given: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
        value: object = handler(given)
        if not isinstance(value, PurePath):
            return value
        if given == "":
            raise ValueError("must not be empty; the directory of the file itself is '.'")
        path = Path(value)
        try:
            path = path.expanduser()
        except RuntimeError as error:
            raise ValueError("there is no home directory of that name") from error
        context = cast("dict[str, Path | None]", info.context or {})
        return Path(context.get(DIRECTORY) or "", path)
