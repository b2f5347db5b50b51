"""Where a text is in a content, as if nothing stood where something is hidden: no place covers a hidden byte.

Hidden bytes decide nothing, neither which places there are nor how many are looked at: a place that they would take
part in is none, and so takes none away from those that are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

Shows = Callable[[int, int], bool]
"""Whether all bytes from the first offset to the second may be seen."""


def shows_all(start: int, end: int) -> bool:
    """For a content of which nothing is hidden."""
    return True


class Places:
    """The places of ``needle`` from ``start`` on, as spans of the content. Asked for in time linear in the content.

    Args:
        flattened: the needle is matched against the content with ``\\n`` for every ``\\r\\n``.
    """

    def __init__(self, data: bytes, needle: bytes, start: int, shows: Shows, *, flattened: bool) -> None:
        self._raw = data
        self._flat = data.replace(b"\r\n", b"\n") if flattened else data
        self._needle = needle
        self._start = start
        self._shows = shows

    def apart(self) -> Iterator[tuple[int, int]]:
        """Those that are left when each begins after the end of the one before."""
        return self._shown(len(self._needle))

    def overlapping(self) -> Iterator[tuple[int, int]]:
        """Every one. Take only a few: each may take as long as comparing the whole needle."""
        return self._shown(1)

    def _shown(self, step: int) -> Iterator[tuple[int, int]]:
        flat = raw = self._start
        found = self._flat.find(self._needle, flat)
        while found >= 0:
            flat, raw = found, self._forward(raw, found - flat)
            end = self._forward(raw, len(self._needle))
            if self._shows(raw, end):
                yield raw, end
                found = self._flat.find(self._needle, flat + step)
                continue
            after = self._after_hidden(self._forward(raw, 1), end)
            flat, raw = flat + self._characters(raw, after), after
            found = self._flat.find(self._needle, flat)

    def _after_hidden(self, start: int, end: int) -> int:
        """Where the last hidden byte before ``end`` is over, if it lies after ``start``; no place begins earlier."""
        while start < end:
            middle = (start + end) // 2
            if self._shows(middle, end):
                end = middle
            else:
                start = middle + 1
        within_line_end = self._flat is not self._raw and self._raw[start - 1 : start + 1] == b"\r\n"
        return start + within_line_end

    def _characters(self, start: int, end: int) -> int:
        """Of the searched form, those between two offsets."""
        return end - start - (0 if self._flat is self._raw else self._raw.count(b"\r\n", start, end))

    def _forward(self, raw: int, count: int) -> int:
        """The offset that is ``count`` characters of the searched form after ``raw``."""
        data = self._raw
        if self._flat is data:
            return raw + count
        while count > 0:
            end = raw + count
            if data[end - 1 : end + 1] == b"\r\n":
                end += 1
            count -= end - raw - data.count(b"\r\n", raw, end)
            raw = end
        return raw
