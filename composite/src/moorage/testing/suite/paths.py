"""What is a path, and what is refused as one."""

from __future__ import annotations

from moorage import Filesystem, InvalidPathError, StoragePath
from moorage.testing.harness import Harness
from moorage.testing.refusing import refused
from moorage.testing.suite.calls import mutating_calls, reading_calls

REFUSED = (
    "..",
    "../x",
    "/a/../b",
    "a/..",
    "a/../../etc/passwd",
    "nul\0byte",
    "new\nline",
    "tab\there",
    "del\x7f",
    "\ud800",
)

SAME = ("a/b", "/a/b", "./a//b", "a/./b", "//a///b/", "/a/b/", "a/b/.")

DIFFERENT = ("/a%2fb", "/a\\b", "/A/b", "/a /b", "/ a/b", "/a/b.", "/a/.b", "/a/...", "/a..b", "/a/b ")


class Paths(Harness):
    async def test_what_is_no_path_is_refused_by_every_method_as_the_caller_wrote_it(self, fs: Filesystem) -> None:
        for text in REFUSED:
            for call in (*reading_calls(fs, text).values(), *mutating_calls(fs, text).values()):
                with refused(InvalidPathError, path=text):
                    await call()
        assert await self.names() == set()

    async def test_all_spellings_of_a_path_are_the_same_file(self, fs: Filesystem) -> None:
        await self.put("/a/b", b"one file")
        for text in SAME:
            assert await fs.read_bytes(text) == b"one file", text
            assert await fs.read_bytes(StoragePath.parse(text)) == b"one file", text

    async def test_nothing_is_trimmed_folded_or_decoded(self, fs: Filesystem) -> None:
        sensitive = (await fs.capabilities("/")).case_sensitive
        await self.put("/a/b", b"one file")
        for text in DIFFERENT:
            if text.lower() != "/a/b" or sensitive:
                assert not await fs.exists(text), text

    async def test_every_spelling_of_the_root_is_a_directory(self, fs: Filesystem) -> None:
        for text in ("", ".", "/", "//", "./"):
            assert (await fs.stat(text)).is_dir, text
            assert await fs.list_dir(text) == [], text
