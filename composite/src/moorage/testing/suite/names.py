"""Names: whatever a path can express is stored as it is, found again, and never taken for another."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage import Filesystem, MoorageError, NameTooLongError, StoragePath
from moorage.testing.harness import Harness
from moorage.testing.iterating import collect

NAMES = (
    "two words",
    " leading",
    "trailing ",
    "trailing.",
    "dots..md",
    "...",
    ".hidden",
    "-rf",
    "~",
    "a+b",
    "100%",
    "%2e%2e",
    "%2F",
    "%00",
    "a#b",
    "a?b=c&d",
    "k?versionId=1",
    "a:b;c,d|e<f>g",
    "don't",
    'say "so"',
    "back\\slash",
    "$HOME",
    "`id`",
    "*",
    "[slug]",
    "{2}(a)+",
    "{a,b}",
    "!@^",
    "CON",
    "日本語",
    "Ærøskøbing",
    "🐙🇩🇰",
    "\u202eright-to-left",
    "\u200bzero-width",
    "\ufeffbom",
    "ffi-ﬃ",
    "x" * 255,
    "ü" * 127,
)

CONTENT = b"content of "

segments = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x2FFFF, exclude_categories=("Cs", "Cc")), min_size=1, max_size=40
).filter(lambda name: "/" not in name and name not in (".", "..") and len(name.encode()) <= 160)


class Names(Harness):
    async def test_odd_names_round_trip_and_stay_apart(self, fs: Filesystem) -> None:
        for name in NAMES:
            await fs.write_bytes(f"/odd/{name}", CONTENT + name.encode())
        for name in NAMES:
            assert await self.peek(StoragePath(f"/odd/{name}")) == CONTENT + name.encode(), name
        entries = await fs.list_dir("/odd")
        assert [entry.name for entry in entries] == sorted(NAMES)
        for entry in entries:
            assert entry.path is not None
            assert await fs.read_bytes(entry.path) == CONTENT + entry.name.encode()

    async def test_odd_names_are_directories_too(self, fs: Filesystem) -> None:
        for name in NAMES:
            await fs.write_bytes(f"/{name}/{name}", b"x")
        found = await fs.list_dir("/", recursive=True)
        assert {str(entry.path) for entry in found} == {f"/{name}{rest}" for name in NAMES for rest in ("", f"/{name}")}
        for name in NAMES:
            assert [entry.name for entry in await fs.list_dir(f"/{name}")] == [name]

    async def test_an_odd_name_is_copied_moved_and_deleted_alone(self, fs: Filesystem) -> None:
        await fs.write_bytes("/beside", b"kept")
        for name in NAMES:
            await fs.write_bytes(f"/{name}", name.encode())
            await fs.copy(f"/{name}", f"/copies/{name}")
            await fs.move(f"/{name}", f"/moved/{name}")
            await fs.delete(f"/copies/{name}")
        moved = {f"/moved/{name}": name.encode() for name in NAMES}
        assert await self.content() == moved | {"/beside": b"kept"}

    async def test_a_literal_name_wins_over_its_reading_as_a_pattern(self, fs: Filesystem) -> None:
        for name in ("[slug]", "s", "{2}(a)+", "*", "other"):
            await fs.write_bytes(f"/dir/{name}", b"x")
        for name in ("[slug]", "{2}(a)+", "*"):
            found = [str(entry.path) for entry in await collect(fs.glob(f"/dir/{name}"))]
            assert found == [f"/dir/{name}"], name

    async def test_composed_and_decomposed_twins_are_kept_apart_or_refused(self, fs: Filesystem) -> None:
        twins = [unicodedata.normalize(form, "Ångström") for form in ("NFC", "NFD")]
        for twin in reversed(twins):
            await fs.write_bytes(f"/{twin}", b"composed")
            assert [entry.name for entry in await fs.list_dir("/")] == [twin]
            await fs.delete(f"/{twin}")
        await fs.write_bytes(f"/{twins[0]}", b"composed")
        try:
            await fs.write_bytes(f"/{twins[1]}", b"decomposed")
        except MoorageError:
            assert await fs.read_bytes(f"/{twins[0]}") == b"composed"
            return
        assert await fs.read_bytes(f"/{twins[0]}") == b"composed"
        assert await fs.read_bytes(f"/{twins[1]}") == b"decomposed"
        assert {entry.name for entry in await fs.list_dir("/")} == set(twins)

    async def test_case_is_kept(self, fs: Filesystem) -> None:
        sensitive = (await fs.capabilities("/")).case_sensitive
        await fs.write_bytes("/Name", b"upper")
        assert [entry.name for entry in await fs.list_dir("/")] == ["Name"]
        assert await fs.exists("/name") is not sensitive
        if sensitive:
            await fs.write_bytes("/name", b"lower")
            assert await self.content() == {"/Name": b"upper", "/name": b"lower"}

    async def test_a_long_name_is_stored_or_refused_as_too_long(self, fs: Filesystem) -> None:
        for path in (
            "/" + "x" * 256,
            "/" + "ü" * 200,
            "/" + "y" * 5_000,
            "/d" * 400 + "/file",
            "/" + "z" * 200 + "/f" * 150,
        ):
            try:
                await fs.write_bytes(path, b"long")
            except NameTooLongError as error:
                assert error.path == path
                with pytest.raises((FileNotFoundError, NameTooLongError)):
                    await fs.read_bytes(path)
            else:
                assert await fs.read_bytes(path) == b"long"

    async def test_a_deep_path_round_trips(self, fs: Filesystem) -> None:
        path = "/" + "/".join(f"level-{index:02d}" for index in range(40))
        await fs.write_bytes(path, b"deep")
        assert await self.peek(StoragePath(path)) == b"deep"
        assert len(await fs.list_dir("/", recursive=True)) == 40
        await fs.remove_dir("/level-00", recursive=True)
        assert await self.names() == set()

    @given(name=segments)
    @settings(
        max_examples=25,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    async def test_any_name_round_trips(self, fs: Filesystem, name: str) -> None:
        await fs.write_bytes(f"/any/{name}", name.encode())
        assert await self.peek(StoragePath(f"/any/{name}")) == name.encode()
        assert [entry.name for entry in await fs.list_dir("/any")] == [name]
        await fs.delete(f"/any/{name}")
