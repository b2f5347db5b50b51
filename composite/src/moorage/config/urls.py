"""``memory://``, ``local:///srv/notes?durable=true``, ``s3://bucket/prefix?region=…``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from moorage.config.options import ProviderOptions
from moorage.config.validation import build_filesystem, options_class, validate_options
from moorage.errors import ConfigError
from moorage.registry import Registry

if TYPE_CHECKING:
    from moorage.filesystem import Filesystem

_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]")
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://")


def open_url(url: str, *, registry: Registry | None = None) -> Filesystem:
    """The filesystem that a URL describes, not yet opened.

    The scheme chooses the provider, the provider says what host and path mean, and the query has options by their
    names in ``moorage.toml``: ``local:///srv/notes?read_only=true``. Relative paths are the current directory's.

    Args:
        registry: where providers are looked up; by default what is installed.

    Raises:
        ConfigError: names the option, the reason and the nearest valid one; the URL, which may hold a secret, is not
            shown.
    """
    options = options_from_url(url, registry=registry or Registry())
    return build_filesystem(options, _origin(url))


def options_from_url(url: str, *, registry: Registry) -> ProviderOptions:
    """The options that a URL describes; see :func:`open_url`."""
    origin = _origin(url)
    parts = _split(url)
    options = options_class(parts.scheme, registry)
    values = _from_host_and_path(options, parts)
    for name, value in _query(parts, origin):
        if values.setdefault(name, value) != value:
            raise ConfigError(f"{origin}: the option {name!r} is given twice")
    return validate_options(options, values, origin=origin, hidden=_texts(values))


def _from_host_and_path(options: type[ProviderOptions], parts: SplitResult) -> dict[str, object]:
    try:
        return dict(options.from_url(parts))
    except ConfigError:
        raise
    except Exception as error:
        reason = type(error).__name__
    raise ConfigError(f"{parts.scheme}:// URL: its host or path makes no sense: {reason}")


def _split(url: str) -> SplitResult:
    if _SCHEME.match(url) is None:
        raise ConfigError("not a URL: it must start with a provider's scheme and '://', like 'memory://'")
    if found := _CONTROL.search(url):
        raise ConfigError(f"{_origin(url)}: the character at position {found.start()} must be percent-encoded")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError(f"{_origin(url)}: not a valid URL") from None
    if "#" in url:
        raise ConfigError(f"{_origin(url)}: has a fragment; write '%23' for '#'")
    return parts


def _query(parts: SplitResult, origin: str) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), errors="strict")
    except ValueError:
        raise ConfigError(f"{origin}: the query is not 'name=value&name=value'") from None
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{origin}: the option {twice!r} is given twice")
    return pairs


def _origin(url: str) -> str:
    """What messages call this URL: its scheme, and nothing of the rest."""
    scheme = _SCHEME.match(url)
    return f"{scheme[1]}:// URL" if scheme else "URL"


def _texts(values: dict[str, object]) -> list[str]:
    return [value for value in values.values() if isinstance(value, str)]
