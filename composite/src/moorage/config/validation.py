"""From configured values to an options object; every refusal names the key and the reason, and shows no value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from pydantic import AliasChoices, ValidationError

from moorage.config.keys import dotted
from moorage.config.options import DIRECTORY, ProviderOptions
from moorage.config.wording import wording
from moorage.errors import ConfigError, MoorageError
from moorage.plugins import nearest
from moorage.registry import Registry

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from moorage.filesystem import Filesystem

_TOO_SHORT_TO_HIDE: Final = 4


def validate_options(
    options: type[ProviderOptions],
    values: Mapping[str, object],
    *,
    origin: str,
    key: tuple[str, ...] = (),
    directory: Path | None = None,
    hidden: Iterable[str] = (),
) -> ProviderOptions:
    """The options object with these values.

    Args:
        origin: the file or URL that messages name.
        key: where in it the values stand.
        directory: what relative paths are relative to; ``None`` leaves them.
        hidden: texts that no message may show.

    Raises:
        ConfigError: every wrong option in one message.
    """
    try:
        return options.model_validate(values, context={DIRECTORY: directory})
    except ValidationError as error:
        reasons = [_reason(options, key, detail, hidden) for detail in error.errors(include_url=False)]
    raise ConfigError(f"{origin}: {'; '.join(reasons)}")


def options_class(scheme: str, registry: Registry) -> type[ProviderOptions]:
    """The options class that a plug-in names.

    Raises:
        ConfigError: it is unknown, cannot be imported, or is none.
    """
    options = registry.options(scheme)
    if not issubclass(options, ProviderOptions):
        raise ConfigError(f"provider {scheme!r}: {options.__name__} is no subclass of ProviderOptions")
    return options


def build_filesystem(options: ProviderOptions, where: str) -> Filesystem:
    """What :meth:`ProviderOptions.build` makes.

    Raises:
        ConfigError: it refused. An error that is not ours is named by its class alone: its text may show a secret.
    """
    try:
        return options.build()
    except MoorageError as error:
        reason = error.message
    except Exception as error:
        reason = f"the provider cannot be made: {type(error).__name__}"
    raise ConfigError(f"{where}: {reason}")


def option_names(options: type[ProviderOptions]) -> list[str]:
    """Every name under which an option can be given."""
    names: list[str] = []
    for name, field in options.model_fields.items():
        names.append(name)
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        names += [choice for choice in choices if isinstance(choice, str) and choice not in names]
    return names


def _reason(options: type[ProviderOptions], key: tuple[str, ...], detail: ErrorDetails, hidden: Iterable[str]) -> str:
    place = tuple(str(part) for part in detail["loc"])
    where = f"{dotted((*key, *place))}: " if key or place else ""
    if detail["type"] == "extra_forbidden":
        hint = nearest(place[-1], option_names(options)) if len(place) == 1 else ""
        return f"{where}unknown option{hint}"
    if detail["type"] == "missing":
        return f"{where}this option is required"
    return where + _without(wording(detail), [*hidden, *_texts(detail["input"])])


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in cast("Mapping[str, object]", value).values() for text in _texts(inner)]
    return []


def _without(message: str, hidden: Iterable[str]) -> str:
    """A validator of a provider's author may quote its input; ours must not."""
    for text in sorted(hidden, key=len, reverse=True):
        if len(text) >= _TOO_SHORT_TO_HIDE:
            message = message.replace(text, "…")
    return message
