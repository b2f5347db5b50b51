"""Which stored names somebody may have meant."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Meant:
    """Names that are there.

    Attributes:
        equivalent: the same to a reader, in another Unicode form; no name can be written in place of another.
        near: that differ in case or by a few characters, nearest first.
    """

    equivalent: tuple[str, ...]
    near: tuple[str, ...]


def meant(name: str, stored: Iterable[str], limit: int = 3) -> Meant:
    """What is near ``name``, which is not among them."""
    form, folded = _form(name), _form(name).casefold()
    equivalent: list[str] = []
    by_folded: dict[str, list[str]] = {}
    for other in stored:
        if _form(other) == form:
            equivalent.append(other)
        else:
            by_folded.setdefault(_form(other).casefold(), []).append(other)
    near = [other for key in get_close_matches(folded, by_folded, limit) for other in sorted(by_folded[key])]
    return Meant(tuple(sorted(equivalent)), tuple(near[:limit]))


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", name)
