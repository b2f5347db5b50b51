"""Names as they are shown: where one holds a secret, whether it is wanted depends on nothing but its redacted form.

A pattern held against the name itself could find out the secret character by character.
"""

from __future__ import annotations

from collections.abc import Callable


def shown_name(relative: str, redact: Callable[[str], str]) -> str:
    """The name or relative path with the secrets of each of its names hidden."""
    if redact(relative) == relative:
        return relative
    return "/".join(map(redact, relative.split("/")))
