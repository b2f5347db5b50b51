"""read_file: what a model sees of a file, and what counts as seen."""

from __future__ import annotations

import base64
import os
import unicodedata
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import ValidationError
from tests.unit.workspace.tools.one_call import Agent

from moorage import (
    InvalidPathError,
    MemoryFilesystem,
    NotRegularFileError,
    PathEscapeError,
    PathIsDirectoryError,
    PathNotFoundError,
)
from moorage_local import LocalFilesystem
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.reads import digest_of
from moorage_workspace.redaction import MASK, Gate
from moorage_workspace.tools.read_file import READ_FILE

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PEM = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAAS\n" * 40 + "-----END PRIVATE KEY-----\n"


@pytest.fixture
def agent() -> Agent:
    return Agent(MemoryFilesystem())


async def read(agent: Agent, content: bytes, name: str = "/a", **arguments: Any) -> str:
    await agent.fs.write_bytes(name, content)
    return (await agent.call(READ_FILE, path=name, **arguments)).text


def decoded(body: str, encoding: str) -> bytes:
    match encoding:
        case "base64":
            return base64.b64decode(body)
        case "hex":
            return bytes.fromhex(body)
        case _:
            return body.encode("latin-1")


async def test_a_whole_file_has_its_size_and_numbered_lines(agent: Agent) -> None:
    assert await read(agent, b"one\n\ttwo\n\n") == "/a (10 bytes)\n     1→one\n     2→\ttwo\n     3→"
    assert await read(agent, b"one", show_line_numbers=False) == "/a (3 bytes)\none"
    assert await read(agent, b"") == "/a (0 bytes)\n(the file is empty)"


async def test_a_range_says_which_lines_of_how_many(agent: Agent) -> None:
    content = b"".join(b"%d\n" % number for number in range(1, 11))
    assert await read(agent, content, offset=9) == "/a (lines 9-10 of 10, 21 bytes)\n     9→9\n    10→10"
    assert await read(agent, content, limit=1) == "/a (lines 1-1 of 10, 21 bytes)\n     1→1"
    assert await read(agent, content, offset=3, limit=2) == "/a (lines 3-4 of 10, 21 bytes)\n     3→3\n     4→4"
    assert (await read(agent, content, offset=1, limit=100)).startswith("/a (21 bytes)\n")
    with pytest.raises(ToolRefusedError, match="the file has 10 lines"):
        await read(agent, content, offset=11)


@pytest.mark.parametrize(
    "wrong", [{"offset": 0}, {"offset": -1}, {"limit": 0}, {"encoding": "latin-1"}, {"offset": "1"}]
)
async def test_arguments_that_make_no_sense_are_refused(agent: Agent, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await read(agent, b"one", **wrong)


async def test_only_newlines_end_lines(agent: Agent) -> None:
    text = "a\u2028b\x0cc\x85d\x0be\u2029f\r\ng\n"
    assert (await read(agent, text.encode())).endswith("bytes)\n     1→a\u2028b\x0cc\x85d\x0be\u2029f\n     2→g")


async def test_a_byte_order_mark_is_not_part_of_the_text(agent: Agent) -> None:
    assert await read(agent, b"\xef\xbb\xbfone\n") == "/a (7 bytes)\n     1→one"
    record = await agent.record("/a")
    assert record is not None
    assert record.whole


async def test_many_lines_are_cut_at_the_cap_which_says_how_to_go_on(agent: Agent) -> None:
    content = b"".join(b"line %d\n" % number for number in range(1, 200_001))
    text = await read(agent, content, max_output_tokens=300)
    assert len(text) < 5_000
    last = int(text.rpartition("→line ")[2].partition("\n")[0])
    assert text.startswith(f"/a (lines 1-{last} of 200000, {len(content)} bytes)\n")
    assert text.endswith(f"\n[{200_000 - last:,} more lines are not shown; read on with offset={last + 1}]")
    following = await read(agent, content, offset=last + 1, limit=3)
    assert f"\n{last + 1:>6}→line {last + 1}\n" in following
    assert "not shown" not in following


async def test_a_line_that_is_too_long_is_cut_and_can_be_read_on(agent: Agent) -> None:
    content = b"".join(b"%07d " % number for number in range(625_000)) + b"\nshort\n"
    text = await read(agent, content)
    assert text.startswith(f"/a (lines 1-1 of 2, {len(content)} bytes)\n     1→0000000 0000001 ")
    assert len(text) < 50_000
    shown = text.partition("→")[2].partition("\n")[0]
    assert f'encoding="binary", offset={len(shown) + 1}; the next line has offset=2]' in text
    more = await read(agent, content, encoding="binary", offset=len(shown) + 1, limit=100)
    assert (
        more
        == f"/a (bytes {len(shown) + 1}-{len(shown) + 100} of {len(content)})\n"
        + content[len(shown) : len(shown) + 100].decode()
    )


async def test_a_character_at_the_edge_of_what_is_kept_is_no_error(agent: Agent) -> None:
    for lead in range(4):
        text = await read(agent, b"a" * lead + "\U0001f600".encode() * 50_000, max_output_tokens=60_000)
        assert "\ufffd" not in text
        assert "\U0001f600\n[line 1 is too long" in text


async def test_a_line_that_is_cut_before_the_cap_says_so_too(agent: Agent) -> None:
    agent.count = lambda text: 1
    content = "\U0001f600".encode() * 50_000
    text = await read(agent, content)
    shown = text.count("\U0001f600") * 4
    assert f'encoding="binary", offset={shown + 1}]' in text
    record = await agent.record("/a")
    assert record is not None
    assert record.spans == ((0, shown),)


async def test_what_counts_as_seen_is_what_was_shown(agent: Agent) -> None:
    content = b"".join(b"line %d\n" % number for number in range(1, 10_001))
    await read(agent, content, max_output_tokens=300)
    record = await agent.record("/a")
    assert record is not None
    assert not record.whole
    assert record.digest == digest_of(content)
    ((start, end),) = record.spans
    assert start == 0
    last = content[:end].count(b"\n")
    assert content[:end].endswith(b"line %d\n" % last)
    await agent.call(READ_FILE, path="/a", offset=last + 1, limit=9_999, max_output_tokens=1_000_000)
    record = await agent.record("/a")
    assert record is not None
    assert record.whole


@pytest.mark.parametrize("arguments", [{}, {"offset": 1, "limit": 99}, {"encoding": "base64"}, {"encoding": "binary"}])
async def test_all_of_it_is_seen_whichever_way(agent: Agent, arguments: dict[str, Any]) -> None:
    await read(agent, b"one\r\ntwo", **arguments)
    record = await agent.record("/a")
    assert record is not None
    assert record.whole


async def test_the_record_has_the_version_of_the_bytes(agent: Agent) -> None:
    await read(agent, b"one\n")
    record = await agent.record("/a")
    assert record is not None
    assert record.version == (await agent.fs.stat("/a")).version


@pytest.mark.parametrize(("name", "encoding"), [("/a", None), ("/a.txt", "utf-8"), ("/a.exe", "utf8")])
async def test_an_image_comes_as_such_by_its_content(agent: Agent, name: str, encoding: str | None) -> None:
    await agent.fs.write_bytes(name, PNG)
    result = await agent.call(READ_FILE, path=name, encoding=encoding)
    assert [(one.media_type, one.data) for one in result.media] == [("image/png", PNG)]
    assert f"{len(PNG)} bytes" in result.text
    record = await agent.record(name)
    assert record is not None
    assert record.whole


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"\xff\xd8\xff\xe0\0", "image/jpeg"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf"),
    ],
)
async def test_the_other_media(agent: Agent, head: bytes, media_type: str) -> None:
    await agent.fs.write_bytes("/m", head)
    assert [one.media_type for one in (await agent.call(READ_FILE, path="/m")).media] == [media_type]


@pytest.mark.parametrize(
    ("options", "name", "content", "comes"),
    [
        ({"media_types": False}, "/a.png", PNG, False),
        ({"media_types": ["image/*"]}, "/a", PNG, True),
        ({"media_types": ["application/*"]}, "/a", PNG, False),
        ({"media_types": lambda media_type: media_type == "image/png"}, "/a", PNG, True),
        ({"media_types": lambda media_type: False}, "/a", PNG, False),
        ({"max_media_bytes": len(PNG)}, "/a", PNG, True),
        ({"max_media_bytes": len(PNG) - 1}, "/a", PNG, False),
        ({}, "/a.gif", b"GIF89a\0", False),
        ({"media_types": ["audio/*"]}, "/a.mp3", b"ID3\0\0", True),
        ({"media_types": ["image/*"]}, "/a.png", b"\0no image", False),
        ({"media_types": ["text/*"]}, "/a.html", b"<p>text</p>", False),
    ],
)
async def test_which_media_come(agent: Agent, options: dict[str, Any], name: str, content: bytes, comes: bool) -> None:
    await agent.fs.write_bytes(name, content)
    result = await agent.call(READ_FILE, path=name, options=options)
    assert bool(result.media) is comes
    assert "\0" not in result.text


async def test_text_is_text_whatever_it_begins_with(agent: Agent) -> None:
    content = b"%PDF-1.4\nPASSWORD=correct-horse-battery\n"
    await agent.fs.write_bytes("/.env", content)
    result = await agent.call(READ_FILE, path="/.env")
    assert not result.media
    assert result.text == f"/.env ({len(content)} bytes)\n     1→%PDF-1.4\n     2→PASSWORD={MASK}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("options", [{}, {"media_types": ["audio/*"]}])
async def test_media_that_hold_a_secret_do_not_come(agent: Agent, options: dict[str, Any], encoding: str) -> None:
    start = b"ID3\0\0" if options else PNG
    content = start + b"\n" + "token: ghp_abcdefghijklmnopqrstuvwxyz0123456789\n".encode(encoding)
    await agent.fs.write_bytes("/a.mp3", content)
    result = await agent.call(READ_FILE, path="/a.mp3", options=options)
    assert not result.media
    assert f"({len(content)} bytes)\nNot shown: " in result.text
    assert "what looks like a secret" in result.text
    assert "ghp_" not in result.text
    assert await agent.record("/a.mp3") is None


async def test_an_explicit_encoding_gives_the_bytes_of_media(agent: Agent) -> None:
    await agent.fs.write_bytes("/a.png", PNG)
    result = await agent.call(READ_FILE, path="/a.png", encoding="base64")
    assert not result.media
    assert base64.b64decode(result.text.partition("\n")[2]) == PNG


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bytes(range(256)) * 40, "binary"),
        ("Grüße aus Köln".encode("latin-1"), "latin-1"),
        ("你好世界".encode("gbk"), "GBK"),
        ("hello".encode("utf-16"), "UTF-16 LE"),
        ("hello".encode("utf-16-be"), "UTF-16 BE without a byte order mark"),
        (b"plain\n" * 5_000 + "Grüße\n".encode("latin-1"), "latin-1"),
        (b"plain\n" * 5_000 + b"\0\1\2", "binary"),
    ],
)
async def test_what_is_no_utf8_text_is_size_and_reason(agent: Agent, content: bytes, reason: str) -> None:
    text = await read(agent, content, offset=max(1, content.count(b"plain\n") - 2))
    assert f"({len(content)} bytes)" in text
    assert reason in text
    assert len(text) < 400
    assert "\ufffd" not in text
    assert "\0" not in text
    assert await agent.record("/a") is None, "metadata is no reading"


async def test_bytes_on_request(agent: Agent) -> None:
    content = bytes(range(256))
    assert bytes.fromhex((await read(agent, content, encoding="hex")).partition("\n")[2]) == content
    assert (await read(agent, "Grüße".encode("latin-1"), encoding="binary")) == "/a (5 bytes)\nGrüße"
    text = await read(agent, content, encoding="hex", offset=3, limit=2)
    assert text == "/a (bytes 3-4 of 256)\n0203"
    with pytest.raises(ToolRefusedError, match="the file has 256 bytes"):
        await read(agent, content, encoding="hex", offset=257)


@pytest.mark.parametrize("encoding", ["base64", "hex", "binary"])
async def test_bytes_are_capped_and_can_be_read_on_to_the_end(agent: Agent, encoding: str) -> None:
    content = os.urandom(3_000) if encoding != "binary" else bytes(range(33, 127)) * 30
    await agent.fs.write_bytes("/a", content)
    got, offset = b"", 1
    while offset <= len(content):
        result = await agent.call(READ_FILE, path="/a", encoding=encoding, offset=offset, max_output_tokens=200)
        assert len(result.text) < 4_000
        head, _, body = result.text.partition("\n")
        body, _, notice = body.partition("\n[read on with offset=")
        got += decoded(body, encoding)
        offset = int(notice.rstrip("]")) if notice else len(content) + 1
        assert f"-{len(got)} of {len(content)}" in head
    assert got == content
    record = await agent.record("/a")
    assert record is not None
    assert record.whole


@pytest.mark.parametrize("offset", [1, 2, 3, 20, 42])
async def test_a_private_key_stays_masked_whichever_line_one_begins_at(agent: Agent, offset: int) -> None:
    await agent.fs.write_text("/key", f"top\n{PEM}bottom\n")
    for numbers in (True, False):
        text = (await agent.call(READ_FILE, path="/key", offset=offset, limit=5, show_line_numbers=numbers)).text
        assert "MIIE" not in text
    assert "    44→bottom" in (await agent.call(READ_FILE, path="/key", offset=44)).text


@pytest.mark.parametrize("encoding", ["base64", "hex", "binary"])
@pytest.mark.parametrize("secret", ["correct-horse-battery-staple", "schlüssel-größe-straße"])
async def test_a_secret_is_masked_in_bytes_wherever_they_begin(encoding: str, secret: str) -> None:
    agent = Agent(MemoryFilesystem(), Gate([secret]))
    content = f"before\n{secret} after\n".encode()
    await agent.fs.write_bytes("/a", content)
    for offset in range(1, len(content) + 1):
        result = await agent.call(READ_FILE, path="/a", encoding=encoding, offset=offset, limit=40)
        body = result.text.partition("\n")[2].partition("\n[")[0] if encoding != "binary" else result.text
        got = decoded(body, encoding)
        for start in range(len(secret) - 5):
            assert secret[start : start + 6].encode() not in got
    await agent.fs.write_bytes("/wide", secret.encode("utf-16"))
    if secret.isascii():
        with pytest.raises(ToolRefusedError) as caught:
            await agent.call(READ_FILE, path="/wide", encoding=encoding)
        assert caught.value.refusal is Refusal.POLICY


async def test_the_mask_survives_the_cut_of_a_long_line() -> None:
    agent = Agent(MemoryFilesystem(), Gate(["correct-horse-battery-staple"]))
    for lead in range(0, 40, 3):
        await agent.fs.write_text("/a", "x" * (64 * 1024 - lead) + "correct-horse-battery-staple" + "y" * 100_000)
        text = (await agent.call(READ_FILE, path="/a", max_output_tokens=30_000)).text
        assert "correct" not in text
        assert "horse" not in text


async def test_what_is_missing_names_what_is_near(agent: Agent) -> None:
    await agent.fs.write_text("/docs/README.md", "x")
    with pytest.raises(PathNotFoundError, match=r"/docs/README\.md"):
        await agent.call(READ_FILE, path="docs/readme.md")
    with pytest.raises(PathNotFoundError, match=r"/doc is not there either"):
        await agent.call(READ_FILE, path="doc/README.md")
    with pytest.raises(PathNotFoundError, match=r"^no such file or directory: "):
        await agent.call(READ_FILE, path="docs/quite-another")


async def test_a_name_in_another_unicode_form_is_suggested_and_can_be_read(agent: Agent) -> None:
    stored, asked = unicodedata.normalize("NFD", "café.md"), unicodedata.normalize("NFC", "café.md")
    await agent.fs.write_text(f"/{stored}", "hello")
    with pytest.raises(PathNotFoundError) as caught:
        await agent.call(READ_FILE, path=asked)
    assert stored in caught.value.message
    assert '"/cafe\\u0301.md"' in caught.value.message
    assert "hello" in (await agent.call(READ_FILE, path=stored)).text


async def test_what_is_no_file_is_refused(agent: Agent, tmp_path: Path) -> None:
    await agent.fs.make_dir("/d")
    with pytest.raises(PathIsDirectoryError):
        await agent.call(READ_FILE, path="/d")
    with pytest.raises(InvalidPathError):
        await agent.call(READ_FILE, path="/../a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "out").symlink_to("/etc/passwd")
    async with LocalFilesystem(tmp_path) as fs:
        with anyio.fail_after(60), pytest.raises(NotRegularFileError):
            await Agent(fs).call(READ_FILE, path="/pipe")
        with pytest.raises(PathEscapeError):
            await Agent(fs).call(READ_FILE, path="/out")


async def test_a_sparse_file_of_two_gigabytes_is_answered_by_its_start(tmp_path: Path) -> None:
    with (tmp_path / "zeros").open("wb") as file:
        file.truncate(2 << 30)
    with (tmp_path / "text").open("wb") as file:
        file.write(b"line\n" * 400_000)
        file.truncate(2 << 30)
    async with LocalFilesystem(tmp_path) as fs:
        agent = Agent(fs)
        assert "binary" in (await agent.call(READ_FILE, path="/zeros")).text
        text = (await agent.call(READ_FILE, path="/text", offset=300_000)).text
        assert text.startswith("/text (lines 300000-")
        assert " of many, 2147483648 bytes)" in text
        assert "\n300000→line\n" in text
        assert "[read on with offset=" in text
        assert (await agent.call(READ_FILE, path="/text", encoding="hex", offset=(2 << 30) - 1)).text.endswith("\n0000")


async def test_the_description_tells_what_is_configured() -> None:
    options = {**READ_FILE.options, "max_output_tokens": 2_000}
    assert "image/png" in READ_FILE.describe(options)
    assert "2,000 tokens" in READ_FILE.describe(options)
    assert "edia" not in READ_FILE.describe({**options, "media_types": False})


async def test_what_was_masked_shows_the_mask(agent: Agent) -> None:
    assert await read(agent, b"password = hunter2hunter2\n") == f"/a (26 bytes)\n     1→password = {MASK}"
