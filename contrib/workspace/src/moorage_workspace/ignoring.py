"""What ``.gitignore`` files mean, as pure values: git's own rules, byte for byte as git matches them.

A pattern without a slash, other than one at its end, is about names at any depth; any other is about paths from the
file's directory. The last pattern that matches decides. Every pattern takes time about linear in the path.
"""

from __future__ import annotations

import codecs
import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Self

GITIGNORE: Final = ".gitignore"
REPOSITORY: Final = ".git"
"""Never listed and never searched, whatever the rules say."""

LARGEST: Final = 256 * 1024
"""Bytes of a file that are read; rules beyond them are not followed."""
MOST_RULES: Final = 2_000
"""Rules of a file that are followed; later ones are not."""

_SPECIAL: Final = re.compile(rb"[*?[\\]")
_WITHOUT_SPACES_AFTER: Final = re.compile(rb"(?:\\.|[^\\ ]| ++(?!$))*+\\?", re.DOTALL)
_VISIBLE: Final = string.ascii_letters + string.digits + string.punctuation
_NAMED: Final = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, (*range(32), 127))),
    b"digit": string.digits,
    b"graph": _VISIBLE,
    b"lower": string.ascii_lowercase,
    b"print": _VISIBLE + " ",
    b"punct": string.punctuation,
    b"space": string.whitespace,
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}
_NEVER: Final = b"(?!)"
_STAR: Final = b"*"
_DIRECTORIES: Final = {b"**/": b"(?:[^/]*/)*?", b"**\\/": b"(?:[^/]*/)+?", b"**": b".*"}


@dataclass(frozen=True, slots=True)
class _Rule:
    matcher: re.Pattern[bytes]
    negated: bool
    directories_only: bool
    of_names: bool


class IgnoreFile:
    """The rules of one ``.gitignore``; they speak of what is below its directory."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Iterable[_Rule]) -> None:
        self._rules = tuple(rules)[::-1]

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Any content is valid; what makes no sense as a pattern matches nothing. A line that is cut off at
        :data:`LARGEST` is none, and rules after :data:`MOST_RULES` are passed over.
        """
        if len(content) >= LARGEST:
            content = content[:LARGEST].rpartition(b"\n")[0]
        return cls(_rule(line) for line in islice(pattern_lines(content), MOST_RULES))

    def __bool__(self) -> bool:
        return bool(self._rules)

    def decide(self, relative: str, *, is_dir: bool) -> bool | None:
        """Whether the path, written from this file's directory, is ignored; ``None`` where no rule speaks of it.

        The caller has asked for every directory above it before: nothing in an ignored one can be had back.
        """
        path = relative.encode()
        name = path.rpartition(b"/")[2]
        for rule in self._rules:
            if rule.directories_only and not is_dir:
                continue
            if rule.matcher.fullmatch(name if rule.of_names else path):
                return not rule.negated
        return None


def pattern_lines(content: bytes) -> Iterator[bytes]:
    """The lines that are patterns, without their ends and without spaces after them."""
    for line in content.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        kept = _WITHOUT_SPACES_AFTER.match(line.removesuffix(b"\r").partition(b"\0")[0])
        line = b"" if kept is None else kept[0]
        if line and not line.startswith(b"#"):
            yield line


def _rule(line: bytes) -> _Rule:
    negated = line.startswith(b"!")
    pattern = line[1:] if negated else line
    directories_only = pattern.endswith(b"/")
    pattern = pattern[:-1] if directories_only else pattern
    of_names = b"/" not in pattern
    pattern = pattern.removeprefix(b"/")
    special = _SPECIAL.search(pattern)
    literal = len(pattern) if special is None else special.start()
    wild = _joined(list(_tokens(pattern[literal:], crosses=not of_names)))
    matcher = re.compile(re.escape(pattern[:literal]) + wild, re.DOTALL)
    return _Rule(matcher, negated, directories_only, of_names)


def _tokens(pattern: bytes, *, crosses: bool) -> Iterator[bytes]:
    """Wildcards by their own text, everything else as a regular expression of one byte. What is before ``pattern`` is
    literal; a double star right after it counts as after a slash, as it does in git.
    """
    at = 0
    while at < len(pattern):
        mark = pattern[at : at + 1]
        if mark == b"*":
            end = len(pattern) - len(pattern[at:].lstrip(b"*"))
            yield (token := _stars(pattern, at, end) if crosses else _STAR)
            at = end + max(len(token) - 2, 0)
        elif mark == b"?":
            yield b"[^/]"
            at += 1
        elif mark == b"[":
            members, at = _bracket(pattern, at + 1)
            yield _NEVER if not members else b"[%b]" % b"".join(b"\\x%02x" % member for member in sorted(members))
        elif mark == b"\\":
            yield re.escape(pattern[at + 1 : at + 2]) or _NEVER
            at += 2
        else:
            yield re.escape(mark)
            at += 1


def _stars(pattern: bytes, start: int, end: int) -> bytes:
    if end - start < 2 or (start > 0 and pattern[start - 1 : start] != b"/"):
        return _STAR
    if end == len(pattern):
        return b"**"
    return next((token for token in (b"**/", b"**\\/") if pattern.startswith(token[2:], end)), _STAR)


def _bracket(pattern: bytes, at: int) -> tuple[set[int], int]:
    """The bytes that a set in brackets matches, and where it ends; none where it is malformed."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: set[int] = set()
    low: int | None = None
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        if pattern.startswith(b"[:", at):
            end = pattern.find(b"]", at + 2)
            named = _NAMED.get(pattern[at + 2 : max(end - 1, 0)])
            is_named = end > at + 2 and pattern[end - 1 : end] == b":"
            if end < 0 or (is_named and named is None):
                return set(), len(pattern)
            if is_named and named is not None:
                members |= set(named.encode())
                low, at = None, end + 1
                continue
        is_range = low is not None and pattern[at : at + 1] == b"-" and pattern[at + 1 : at + 2] not in (b"", b"]")
        at += is_range
        at += pattern[at : at + 1] == b"\\"
        if at >= len(pattern):
            return set(), len(pattern)
        char = pattern[at]
        members |= set(range(low, char + 1)) if is_range and low is not None else {char}
        low = None if is_range else char
        at += 1
    return (set(range(1, 256)) - members if negated else members) - {ord("/")}, at + 1


def _joined(tokens: list[bytes]) -> bytes:
    """One regular expression. What stands before a wildcard matches at its first place and for good, which is as good
    as any later one; so no pattern blows up.
    """
    groups: list[list[bytes]] = [[]]
    deep: list[bytes] = []
    for token in tokens:
        if token in _DIRECTORIES:
            deep.append(_DIRECTORIES[token])
            groups.append([])
        else:
            groups[-1].append(token)
    if not deep:
        return _run(groups[0], last=True)
    out = _run(groups[0], last=False)
    for crossing, group in zip(deep[:-1], groups[1:-1], strict=True):
        out += b"(?>%b%b)" % (crossing, _run(group, last=False))
    return out + deep[-1] + _run(groups[-1], last=True)


def _run(tokens: list[bytes], *, last: bool) -> bytes:
    """Tokens between two wildcards that cross slashes; ``last``: up to the end of the path."""
    pieces = [b""]
    for token in tokens:
        if token == _STAR:
            pieces.append(b"")
        else:
            pieces[-1] += token
    first, *rest = pieces
    if not rest:
        return first
    atomic, end = (rest[:-1], b"[^/]*" + rest[-1]) if last else (rest, b"")
    return first + b"".join(b"(?>[^/]*?%b)" % piece for piece in atomic if piece) + end
