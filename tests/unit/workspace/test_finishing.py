"""The end of a call: however large or strange what it was given, the result is small, and nobody else waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.workspace.toys import tool

from moorage import MemoryFilesystem, PathNotFoundError
from moorage_workspace import WORKSPACE_TOOLS, Output, Workspace
from moorage_workspace.redaction import Gate
from moorage_workspace.tools import validating

pytestmark = pytest.mark.anyio

WRITE = WORKSPACE_TOOLS.FILESYSTEM.WRITE_FILE


@pytest.fixture
def redacted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """Of each text that was redacted: its length, and whether that was in the event loop's thread."""
    seen: list[tuple[int, bool]] = []
    _watch(monkeypatch, Gate, "redact", seen)
    return seen


def _watch(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, seen: list[tuple[int, bool]]) -> None:
    original: Callable[..., Any] = getattr(owner, name)
    loop = threading.get_ident()

    def watched(*arguments: Any) -> Any:
        seen.append((len(arguments[-1]), threading.get_ident() == loop))
        return original(*arguments)

    monkeypatch.setattr(owner, name, watched)


@pytest.mark.parametrize("name", [None, 3, b"workspace_read_file", [], {}])
async def test_what_is_no_name_is_an_unknown_tool(name: Any) -> None:
    async with Workspace(filesystem=MemoryFilesystem()) as workspace:
        result = await workspace.call_tool(name, {})
    assert result.error is not None
    assert result.error.code == "unknown_tool"
    assert result.tool == type(name).__name__


async def test_a_huge_name_is_cut_before_it_is_redacted(redacted: list[tuple[int, bool]]) -> None:
    secret = "correct-horse-battery-staple"
    name = "x" * 190 + secret + "token = y " * 50_000
    async with Workspace(filesystem=MemoryFilesystem(), secrets=[secret]) as workspace:
        result = await workspace.call_tool(name, {})
    assert result.error is not None
    assert result.error.code == "unknown_tool"
    assert WRITE in result.text
    assert len(result.tool) <= 200
    assert "correct" not in result.text + result.tool
    assert max(length for length, _ in redacted) < 20_000


async def test_a_huge_message_is_cut_before_it_is_redacted(redacted: list[tuple[int, bool]]) -> None:
    async def fail(*arguments: object) -> Output:
        raise PathNotFoundError("token = y " * 50_000, path="/" + "x" * 100_000)

    failing = tool("toy_fails", act=fail)
    async with Workspace(filesystem=MemoryFilesystem(), extra_tools=[failing]) as workspace:
        result = await workspace.call_tool("toy_fails", {})
    assert result.error is not None
    assert result.error.code == "not_found"
    assert len(result.text) < 10_000
    assert max(length for length, _ in redacted) < 20_000


async def test_a_large_body_is_redacted_beside_the_event_loop(redacted: list[tuple[int, bool]]) -> None:
    body = "password = correct-horse-battery\n" * 4_000

    async def say(*arguments: object) -> Output:
        return Output(body)

    async with Workspace(filesystem=MemoryFilesystem(), extra_tools=[tool("toy_says", act=say)]) as workspace:
        result = await workspace.call_tool("toy_says", {})
    assert "correct" not in result.text
    assert (len(body), False) in redacted
    assert (len(body), True) not in redacted


async def test_a_large_content_is_searched_for_the_mask_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, bool]] = []
    _watch(monkeypatch, validating, "holds_mask", seen)
    content = "x" * (1024 * 1024 + 1)
    async with Workspace(filesystem=MemoryFilesystem()) as workspace:
        assert (await workspace.call_tool(WRITE, {"path": "/a", "content": content})).ok
    assert (len(content), False) in seen
