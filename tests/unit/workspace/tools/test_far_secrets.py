"""Secrets that are far from what names them, by nature or because an edit would move them there: no tool shows them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.unit.workspace.tools.one_call import Agent

from moorage import MemoryFilesystem
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.redaction import MASK
from moorage_workspace.tools.edit_file import EDIT_FILE
from moorage_workspace.tools.read_file import READ_FILE

pytestmark = pytest.mark.anyio

CHANCE = random.Random(3)
LINES = ["".join(CHANCE.choices("abcdefghijKLMNOPQ0123456789+/", k=64)) for _ in range(600)]
BEGIN = "-----BEGIN PRIVATE KEY-----\n"
SHORT = BEGIN + "\n".join(LINES[:25]) + "\n-----END PRIVATE KEY-----\n"
LONG = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + "\n".join(LINES) + "\n-----END PGP PRIVATE KEY BLOCK-----\n"
ENV = "# config\npassword = hunter2secret9\nxx\n"
JSON = '{"password": "' + "".join(LINES) + '"}\n'


@pytest.fixture
def agent() -> Agent:
    return Agent(MemoryFilesystem())


async def read(agent: Agent, path: str, **arguments: Any) -> str:
    return (await agent.call(READ_FILE, path=path, **arguments)).text


async def refusal(agent: Agent, content: str, old: str, new: str) -> Refusal:
    await agent.fs.write_text("/a", content)
    with pytest.raises(ToolRefusedError) as caught:
        await agent.call(EDIT_FILE, path="/a", old_string=old, new_string=new)
    assert await agent.fs.read_text("/a") == content
    return caught.value.refusal


@pytest.mark.parametrize("offset", [3, 280, 400, 602])
async def test_a_long_key_is_masked_whichever_lines_are_read(agent: Agent, offset: int) -> None:
    await agent.fs.write_text("/key", f"{LONG}after it\n")
    text = await read(agent, "/key", offset=offset, limit=1)
    assert f"\n{offset:>6}→{MASK}" in text
    assert LINES[offset - 3] not in text
    assert "   604→after it" in await read(agent, "/key", offset=600)


@pytest.mark.parametrize("encoding", ["binary", "hex"])
@pytest.mark.parametrize("content", [LONG, JSON])
async def test_so_is_what_is_read_of_it_as_bytes(agent: Agent, content: str, encoding: str) -> None:
    await agent.fs.write_text("/a", content)
    text = await read(agent, "/a", encoding=encoding, offset=30_001, limit=130)
    assert content[30_040:30_060] not in text
    assert content[30_040:30_060].encode().hex()[:30] not in text.replace("\n", "")
    assert "secrets in them are masked" in text


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        pytest.param(ENV, "password = ", "password = " + "A" * 20_000, id="a value"),
        pytest.param(ENV, "password = ", "password = '" + "A" * 20_000, id="a value in quotes"),
        pytest.param(SHORT, BEGIN, BEGIN + ("A" * 64 + "\n") * 300, id="a key"),
        pytest.param(
            SHORT, "BEGIN PRIVATE KEY-----\n", "BEGIN PRIVATE KEY-----\n" + "\n" * 20_000, id="by empty lines"
        ),
        pytest.param(
            f"{SHORT}{ENV}", "BEGIN PRIVATE KEY-----\n", f"BEGIN PRIVATE KEY-----\n{'A' * 14_500}\n", id="a part"
        ),
    ],
)
@pytest.mark.parametrize("before", ["", "ordinary text\n" * 5_000])
async def test_no_edit_moves_a_secret_out_of_reach(agent: Agent, before: str, content: str, old: str, new: str) -> None:
    assert await refusal(agent, before + content, old, new) is Refusal.MASKED_CONTENT


async def test_many_small_edits_do_not_either(agent: Agent) -> None:
    await agent.fs.write_text("/a", ENV)
    with pytest.raises(ToolRefusedError) as caught:
        for _ in range(20):
            await agent.call(EDIT_FILE, path="/a", old_string="password = ", new_string="password = " + "A" * 1_000)
    assert caught.value.refusal is Refusal.MASKED_CONTENT
    size = (await agent.fs.stat("/a")).size
    for offset in range(1, size, 500):
        assert "hunter2" not in await read(agent, "/a", encoding="binary", offset=offset, limit=500)


@pytest.mark.parametrize("content", [SHORT, ENV, f"{ENV}{SHORT}", f"{SHORT}{ENV}", f"{LONG}{ENV}"])
async def test_long_texts_beside_secrets_are_edited(agent: Agent, content: str) -> None:
    long = "ordinary text\n" * 3_000
    await agent.fs.write_text("/a", f"first\n{content}last\n")
    await agent.call(EDIT_FILE, path="/a", old_string="first\n", new_string=long)
    await agent.call(EDIT_FILE, path="/a", old_string="last\n", new_string=long)
    assert await agent.fs.read_text("/a") == f"{long}{content}{long}"


@pytest.mark.parametrize(("content", "far"), [(JSON, "".join(LINES)[30_000:30_040]), (LONG, LINES[500][:40])])
async def test_what_is_far_in_a_secret_is_not_matched(agent: Agent, content: str, far: str) -> None:
    assert await refusal(agent, content, far, "x") is Refusal.NO_MATCH
    assert await refusal(agent, content, far[:-1] + "-", "x") is Refusal.NO_MATCH


async def test_the_diff_beside_a_long_key_shows_none_of_it(agent: Agent) -> None:
    await agent.fs.write_text("/a", f"{LONG.replace('END', 'STOP')}last\n")
    result = await agent.call(EDIT_FILE, path="/a", old_string="last", new_string="the very last")
    assert "+the very last" in result.text
    assert not any(line in result.text for line in LINES)


async def test_a_secret_that_a_strange_byte_parts_from_its_name_is_not_attached(agent: Agent) -> None:
    for strange in ("é".encode(), b"\xe9", b"\x01"):
        for password in (b"hunter2secret9", b"swordfish(it)"):
            await agent.fs.write_bytes("/a.pdf", b"%PDF-1.4\0\npassword = " + strange + password + b"\nxx\n")
            result = await agent.call(READ_FILE, path="/a.pdf")
            assert not result.media
            assert "what looks like a secret" in result.text


async def test_what_looks_random_is_attached(agent: Agent) -> None:
    content = b"\x89PNG\r\n\x1a\n" + CHANCE.randbytes(500_000) + b"\0user://a:b\x01c@d"
    await agent.fs.write_bytes("/a.png", content)
    assert (await agent.call(READ_FILE, path="/a.png")).media


async def test_long_lines_that_hold_no_secret_are_read(agent: Agent) -> None:
    line = ('{"id": 1, "tokens": 3, "says": "it\'s so"}, ' * 60_000)[:2_400_000]
    await agent.fs.write_text("/a", f"[{line}]")
    for offset in (20_000, 600_000, 2_300_000):
        assert line[offset - 2 : offset + 98] in await read(agent, "/a", encoding="binary", offset=offset, limit=100)


async def test_where_it_cannot_be_told_nothing_is_shown(agent: Agent) -> None:
    for content in (b"A" * 17_000_000, (b"A" * 64 + b"\n") * 270_000):
        await agent.fs.write_bytes("/a", content)
        with pytest.raises(ToolRefusedError, match="cannot be told whether") as caught:
            await read(agent, "/a", encoding="binary", offset=16_900_000, limit=100)
        assert caught.value.refusal is Refusal.POLICY
        assert "AAAA" in await read(agent, "/a", encoding="binary", offset=16_000_000, limit=100)
    await agent.fs.write_bytes("/a", b'"AAAA", ' * 2_200_000)
    assert "AAAA" in await read(agent, "/a", encoding="binary", offset=16_900_000, limit=100)
