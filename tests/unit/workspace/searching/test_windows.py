"""Files as windows of text."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.searching import windows as module
from moorage_workspace.searching.windows import NotTextError, Window, windows

pytestmark = pytest.mark.anyio


async def chunked(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def cut(data: bytes, size: int = 64 * 1024) -> list[Window]:
    return [window async for window in windows(chunked(data, size))]


async def test_a_small_file_is_one_window() -> None:
    assert await cut("\ufeffä\nb".encode()) == [Window("", "ä\nb", "", 1)]
    assert await cut(b"") == []
    assert await cut(b"\xef\xbb\xbf") == []


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CORE", 40)
    monkeypatch.setattr(module, "REACH", 12)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_cores_are_all_of_it_and_margins_what_is_beside_them(size: int) -> None:
    text = "".join(f"line {number} é\n" for number in range(40)) + "end"
    found = await cut(text.encode(), size)
    assert len(found) > 5
    assert "".join(window.core for window in found) == text
    for window in found:
        at = text.index(window.core)
        assert text.count("\n", 0, at) + 1 == window.first
        assert text[:at].endswith(window.before)
        assert text[at + len(window.core) :].startswith(window.after)
        assert window.before == "" or text[: at - len(window.before)] == "" or window.before.endswith("\n")
    assert all(window.before and window.after for window in found[1:-1])


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [1, 13, 1000])
async def test_of_a_line_longer_than_a_core_the_start_is_kept(size: int) -> None:
    long = "é" * 100
    found = await cut(f"a\n{long}\nb\n".encode(), size)
    text = [window.core for window in found]
    assert text[0] == "a\n"
    assert text[1] == "é" * 20
    assert text[-1].endswith("b\n")
    assert found[-1].first + found[-1].core.count("\n") - 1 == 3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("data", "is_binary"),
    [
        (b"ok\n" * 100 + b"\0", True),
        (b"ok\n" * 100 + b"\xff", False),
        (b"ok\n" * 100 + b"\xe2\x82", False),
        (b"x" * 300 + b"\0" + b"x" * 300, True),
        (b"x" * 300 + b"\xe9" + b"x" * 300, False),
        (("x" * 300).encode("utf-16"), False),
    ],
)
@pytest.mark.parametrize("size", [1, 50, 5000])
async def test_what_is_no_text_is_found_wherever_it_is(data: bytes, is_binary: bool, size: int) -> None:
    with pytest.raises(NotTextError) as caught:
        await cut(data, size)
    assert caught.value.is_binary is is_binary


@given(st.binary(max_size=60), st.integers(1, 10))
async def test_it_is_text_exactly_if_it_decodes_and_has_no_nul(data: bytes, size: int) -> None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    try:
        found: str | None = "".join([window.core for window in await cut(data, size)])
    except NotTextError:
        found = None
    assert found == (None if text is None or "\0" in text else text)
