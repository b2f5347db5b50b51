"""Where the bucket answers: endpoint, region, and path or virtual-host style."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal
from urllib.parse import urlsplit

from yarl import URL

from moorage_s3.signing import encode_key

Addressing = Literal["auto", "path", "virtual"]

_HOST_LABEL: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def is_http(url: str) -> bool:
    """Whether this is an ``http`` or ``https`` URL with a host and without query and fragment."""
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_plain and re.fullmatch(r"[\x21-\x7e]+", url) is not None and not parts.query and not parts.fragment


@dataclass(frozen=True, slots=True)
class Place:
    """One bucket at one endpoint.

    Attributes:
        origin: scheme, host and port of the requests' URLs.
        host: the header.
        root: the encoded path of the bucket: ``""`` in virtual-host style, else ``/bucket``.
    """

    origin: str
    host: str
    root: str
    region: str
    is_secure: bool
    bucket: str = field(default="")

    def path(self, key: str) -> str:
        """The encoded path of a key; of the bucket for an empty one."""
        return f"{self.root}/{encode_key(key)}" if key else self.root or "/"

    def url(self, path: str, query: str) -> URL:
        """The URL, exactly as it was encoded: no dot segment or double slash is taken out."""
        return URL(f"{self.origin}{path}?{query}" if query else f"{self.origin}{path}", encoded=True)

    @property
    def identity(self) -> str:
        return f"{self.origin}{self.root}"


def place(bucket: str, endpoint: str, region: str, addressing: Addressing, *, is_own: bool) -> Place:
    """The place of a bucket; ``is_own`` says that the user chose the endpoint, where ``auto`` means path style."""
    parts = urlsplit(endpoint)
    host = (parts.hostname or "").lower()
    shown = f"[{host}]" if ":" in host else host
    if parts.port is not None and parts.port != _DEFAULT_PORTS[parts.scheme]:
        shown = f"{shown}:{parts.port}"
    base = parts.path.rstrip("/")
    is_virtual = addressing == "virtual" or (addressing == "auto" and not is_own and fits_host(bucket))
    if is_virtual:
        shown = f"{bucket}.{shown}"
    root = base if is_virtual else f"{base}/{encode_key(bucket)}"
    return Place(f"{parts.scheme}://{shown}", shown, root, region, parts.scheme == "https", bucket)


@lru_cache(maxsize=256)
def fits_host(bucket: str) -> bool:
    """Whether the bucket can be a label of a host name that a wildcard certificate covers: no dots."""
    return _HOST_LABEL.fullmatch(bucket) is not None
