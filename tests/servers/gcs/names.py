"""Which names objects and buckets may have, as documented."""

from __future__ import annotations

import re
from typing import Final

from tests.servers.gcs.failures import invalid

LONGEST: Final = 1024
BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def check_object_name(name: str) -> str:
    """The name, unless it is one that no object can have."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise invalid("Object name is not valid UTF-8.") from None
    if not 1 <= size <= LONGEST:
        raise invalid(f"The specified object name is not valid: it has {size} bytes, not 1 to {LONGEST}.")
    if name in {".", ".."} or "\r" in name or "\n" in name or name.startswith(".well-known/acme-challenge/"):
        raise invalid(f"Disallowed object name: {name!r}")
    return name


def check_bucket_name(name: str) -> str:
    if not BUCKET.fullmatch(name):
        raise invalid(f"Invalid bucket name: {name!r}")
    return name
