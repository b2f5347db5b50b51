"""Glob patterns as pure values: no I/O.

``*`` any run within a segment, ``?`` one character, ``[…]`` and ``[!…]`` one of a set, ``{a,b}`` alternatives,
``**`` any number of segments. Everything else is literal, also braces without a comma. A name that begins with a dot
is matched by a wildcard only if the pattern's segment begins with a dot, or ``hidden`` is asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from moorage.errors import InvalidArgumentError
from moorage.paths import canonical

MAX_ALTERNATIVES = 1024
"""How many patterns the braces of one pattern may expand to."""


class Glob:
    """A pattern that relative paths are held against: a name at any depth, or with a slash the whole path.

    Args:
        hidden: wildcards match names that begin with a dot, too.

    Raises:
        InvalidPathError: the pattern has a segment that no path can have.
        InvalidArgumentError: the pattern's braces expand to more than :data:`MAX_ALTERNATIVES` patterns.
    """

    __slots__ = ("_matchers", "_whole")

    def __init__(self, pattern: str, *, hidden: bool = True) -> None:
        self._whole = "/" in pattern.strip("/")
        self._matchers = [matcher(split(text), hidden) for text in expand_braces(pattern)]

    @staticmethod
    def expanded_size(pattern: str) -> int:
        """Characters that the pattern has once its braces are expanded, for whoever bounds what others write.

        Raises:
            InvalidArgumentError: as the constructor.
        """
        return sum(map(len, expand_braces(pattern)))

    def matches(self, relative: str) -> bool:
        """Whether the path, written without a slash at its start, is one of the pattern's."""
        text = relative if self._whole else relative.rpartition("/")[2]
        return any(found.fullmatch(text) for found in self._matchers)


def has_magic(segment: str) -> bool:
    """Whether this segment could match anything but itself."""
    return any(mark in segment for mark in "*?[") or len(expand_braces(segment)) > 1


def split(pattern: str) -> tuple[str, ...]:
    """The segments of a pattern, under the same rules as a path's.

    Raises:
        InvalidPathError: as for a path.
    """
    text = canonical(pattern)
    return () if text == "/" else tuple(text[1:].split("/"))


def expand_braces(text: str) -> list[str]:
    """``a{b,c}d`` becomes ``abd`` and ``acd``; braces may nest; a brace without comma or partner is literal.

    Raises:
        InvalidArgumentError: more than :data:`MAX_ALTERNATIVES` patterns would come out.
    """
    done: list[str] = []
    pending = [text]
    while pending:
        current = pending.pop()
        group = _first_group(current)
        if group is None:
            done.append(current)
        else:
            start, end, options = group
            pending += [current[:start] + option + current[end:] for option in reversed(options)]
        if len(done) + len(pending) > MAX_ALTERNATIVES:
            raise InvalidArgumentError(f"the braces of this pattern expand to more than {MAX_ALTERNATIVES} patterns")
    return done


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    """The first brace group with a comma: where it starts, where it ends, and its alternatives.

    One pass, whatever the nesting.
    """
    opened: list[list[int]] = []
    first: list[int] | None = None
    for index, mark in enumerate(text):
        if mark == "{":
            opened.append([index])
        elif mark == "," and opened:
            opened[-1].append(index)
        elif mark == "}" and opened:
            cuts = opened.pop()
            if len(cuts) > 1 and (first is None or cuts[0] < first[0]):
                first = [*cuts, index]
            if not opened and first is not None:
                break
    return None if first is None else (first[0], first[-1] + 1, [text[a + 1 : b] for a, b in pairwise(first)])


@lru_cache(maxsize=256)
def matcher(segments: tuple[str, ...], hidden: bool) -> re.Pattern[str]:
    """A regular expression for a relative path (no leading slash) that brace-free ``segments`` match, whole.

    Matching takes time linear in the path for each wildcard: what stands between two of them matches atomically at
    its first place, which is always as good as any later one.
    """
    any_name = "[^/]+" if hidden else r"(?!\.)[^/]+"
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            groups.append([])
        else:
            groups[-1].append(_segment_regex(segment, hidden))
    if len(groups) == 1:
        return re.compile("/".join(groups[0]), re.DOTALL)
    first, *middle, last = groups
    out = "".join(f"{name}/" for name in first)
    out += "".join(f"(?>(?:{any_name}/)*?{'/'.join(group)}/)" for group in middle if group)
    out += f"(?:{any_name}/)*{'/'.join(last)}" if last else f"{any_name}(?:/{any_name})*"
    return re.compile(out, re.DOTALL)


def _segment_regex(segment: str, hidden: bool) -> str:
    out = "" if hidden or segment.startswith(".") else r"(?!\.)"
    pieces = _pieces(segment)
    if len(pieces) == 1:
        return out + pieces[0]
    first, *middle, last = pieces
    if not any(pieces):
        return out + "[^/]+"
    return out + first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _pieces(segment: str) -> list[str]:
    """What stands between the stars, each as a regular expression of fixed width."""
    pieces = [""]
    index = 0
    while index < len(segment):
        mark = segment[index]
        index += 1
        if mark == "*":
            pieces.append("")
        elif mark == "?":
            pieces[-1] += "[^/]"
        elif mark == "[" and (end := _set_end(segment, index)) is not None:
            pieces[-1] += _set_regex(segment[index:end])
            index = end + 1
        else:
            pieces[-1] += re.escape(mark)
    return pieces


def _set_end(segment: str, start: int) -> int | None:
    """Where the set that begins at ``start`` ends; a closing bracket in its first place belongs to it."""
    first = start + (1 if segment[start : start + 1] in ("!", "^") else 0)
    end = segment.find("]", first + 1)
    return None if end < 0 else end


def _set_regex(body: str) -> str:
    negated = body[0] in "!^"
    chosen = body[1:] if negated else body
    items = ""
    index = 0
    while index < len(chosen):
        low = chosen[index]
        if chosen[index + 1 : index + 2] == "-" and index + 2 < len(chosen):
            high = chosen[index + 2]
            items += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
            index += 3
        else:
            items += re.escape(low)
            index += 1
    if not items:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{items}]"
