"""Patterns as values, and globs over a tree."""

from __future__ import annotations

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import Glob, InvalidArgumentError, InvalidPathError, MemoryFilesystem
from moorage.globs import expand_braces, matcher, split


def matches(pattern: str, path: str, *, hidden: bool = False) -> bool:
    return any(matcher(split(text), hidden).fullmatch(path) for text in expand_braces(pattern))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py"], [".py", "a/b.py", "a.pyc"]),
        ("**/*.py", ["a.py", "a/b/c.py"], [".a/b.py", "a/.b.py"]),
        (".*", [".a"], ["a"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("**", ["a", "a/b"], []),
        ("**/a/**/b", ["a/b", "x/a/y/z/b"], ["a", "b", "a/bb"]),
        ("?", ["a", "é"], ["ab", "/"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a]x", ["bx"], ["ax", "x"]),
        ("[]]x", ["]x"], ["x"]),
        ("[x", ["[x"], ["x"]),
        ("{a,b}/x", ["a/x", "b/x"], ["{a,b}/x"]),
        ("a{b,c{d,e}}", ["ab", "acd", "ace"], ["acde"]),
        ("{2}(a)+", ["{2}(a)+"], ["aa", "2a"]),
        ("a+b.c", ["a+b.c"], ["aab.c", "a+bxc"]),
        ("*a*b*", ["xaxbx", "ab"], ["ba"]),
    ],
)
def test_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not matches(pattern, path)] == []
    assert [path for path in no if matches(pattern, path)] == []


@given(st.text("ab*?]-![", min_size=1, max_size=8), st.text("ab]-", min_size=1, max_size=6))
def test_one_segment_agrees_with_fnmatch(pattern: str, name: str) -> None:
    if "**" in pattern:
        return
    assert matches(pattern, name, hidden=True) == bool(re.fullmatch(fnmatch.translate(pattern), name))


@pytest.mark.timeout(20)
def test_no_pattern_takes_for_ever() -> None:
    assert not matches("*a" * 40 + "b", "a" * 255)
    assert not matches("**/a/" * 30 + "b", "a/" * 100 + "c")
    assert not matches("[a-z]*" * 40 + "!", "a" * 255)
    with pytest.raises(InvalidArgumentError, match="braces"):
        expand_braces("{a,b}" * 11)


@pytest.mark.anyio
class TestOverATree:
    async def found(self, fs: MemoryFilesystem, pattern: str, *, hidden: bool = False) -> list[str]:
        return sorted([str(entry.path) async for entry in fs.glob(pattern, hidden=hidden)])

    async def planted(self) -> MemoryFilesystem:
        fs = MemoryFilesystem()
        for path in ("/app/[slug]/page", "/app/s/page", "/app/.git/page", "/app/{2}(a)+/x", "/app/aa/x", "/a+b/c"):
            await fs.write_text(path, "")
        return fs

    async def test_a_literal_path_wins_over_its_reading_as_a_pattern(self) -> None:
        fs = await self.planted()
        assert await self.found(fs, "/app/[slug]/page") == ["/app/[slug]/page"]
        assert await self.found(fs, "/app/[slug]/*") == ["/app/[slug]/page"]
        assert await self.found(fs, "app/[s]/*") == ["/app/s/page"]
        assert await self.found(fs, "/app/{2}(a)+") == ["/app/{2}(a)+"]
        assert await self.found(fs, "/app/{2}(a)+/*") == ["/app/{2}(a)+/x"]
        assert await self.found(fs, "/a+b/*") == ["/a+b/c"]

    async def test_hidden_names_follow_the_flag(self) -> None:
        fs = await self.planted()
        assert await self.found(fs, "/app/**/page") == ["/app/[slug]/page", "/app/s/page"]
        assert "/app/.git/page" in await self.found(fs, "/app/**/page", hidden=True)
        assert await self.found(fs, "/app/.*/page") == ["/app/.git/page"]
        assert "/app/.git" not in [str(entry.path) async for entry in fs.walk("/")]
        assert "/app/.git/page" in [str(entry.path) async for entry in fs.walk("/", hidden=True)]

    async def test_each_match_once_and_nothing_where_nothing_is(self) -> None:
        fs = await self.planted()
        assert await self.found(fs, "/app/{s,s,*}/page") == ["/app/[slug]/page", "/app/s/page"]
        assert await self.found(fs, "/nope/*") == []
        assert await self.found(fs, "/app/s/page/*") == []
        with pytest.raises(InvalidPathError):
            await self.found(fs, "/app/../*")

    async def test_listings_by_depth_and_pattern(self) -> None:
        fs = await self.planted()
        two = [str(entry.path) for entry in await fs.list_dir("/", max_depth=2)]
        assert two == [
            "/a+b", "/a+b/c", "/app", "/app/.git", "/app/[slug]", "/app/aa", "/app/s", "/app/{2}(a)+",
        ]  # fmt: skip
        named = [str(entry.path) for entry in await fs.list_dir("/", recursive=True, pattern="pa?e")]
        assert named == ["/app/.git/page", "/app/[slug]/page", "/app/s/page"]
        below = [str(entry.path) for entry in await fs.list_dir("/app", recursive=True, pattern="s/*")]
        assert below == ["/app/s/page"]


def test_many_open_braces_cost_one_pass() -> None:
    """Were each looked for a partner on its own, this would take hours; the limit of every test ends it."""
    text = "{" * 200_000
    assert expand_braces(text) == [text]
    assert expand_braces(text + "a,b}") == [text[1:] + "a", text[1:] + "b"]


@pytest.mark.parametrize(("pattern", "size"), [("*.md", 4), ("{a,bc}.md", 9), ("{a,b}{c,d}", 8), ("", 0)])
def test_what_braces_expand_to_can_be_bounded_before_it_is_compiled(pattern: str, size: int) -> None:
    assert Glob.expanded_size(pattern) == size
    with pytest.raises(InvalidArgumentError):
        Glob.expanded_size("{a,b}" * 11)
