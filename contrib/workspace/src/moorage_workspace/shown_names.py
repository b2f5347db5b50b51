"""Names as they are shown: where one holds a secret, whether and where it is listed depends on its redacted form alone.

A pattern held against the name itself, or an order by it, could find out the secret character by character.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

_REMEMBERED: Final = 10_000


class ShownNames:
    """What is shown of names.

    Args:
        redact: takes secrets out of a text, line by line.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._known: dict[str, str] = {}

    def of_name(self, name: str) -> str:
        """One name without its secrets."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[name] = self._redact(name)
        return known

    def of_path(self, relative: str) -> str:
        """A path without the secrets of each of its names."""
        return "/".join(map(self.of_name, relative.split("/")))

    def show(self, lines: str) -> bool:
        """Whether all names in a list of paths, a line each, are shown as they are; the cheapest way to ask."""
        names = lines.replace("/", "\n")
        return self._redact(names) == names

    def masked(self, paths: Iterable[str]) -> dict[str, str]:
        """Of all names in these paths those that are not shown as they are, and what is shown; cheap for many paths."""
        names = list({name for path in paths for name in path.split("/") if "\n" not in name})
        text = "\n".join(names)
        shown = self._redact(text)
        if shown == text:
            return {}
        pairs = zip(names, shown.split("\n"), strict=True)
        return {name: self._redact(name) for name, line in pairs if line != name and self._redact(name) != name}

    def ordering(self, paths: Iterable[str]) -> Callable[[str], list[tuple[str, str]]]:
        """What to sort these paths by. Names that look the same keep an order of their own."""
        masked = self.masked(paths)
        return lambda path: [(masked.get(name, name), name) for name in path.split("/")]
