"""Text or not, and in which encoding: by content."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage_workspace.text.encodings import judge, judge_whole, whole_characters

CHINESE = "世界你好。这是一个测试文件。里面有中文。"
TRADITIONAL = "世界你好。這是一個測試檔案。裡面有中文。"


@pytest.mark.parametrize("text", ["", "plain\n", "größe \U0001f600", "\ufeffwith a mark", "\x1b[31mred", "a\u2028b"])
def test_utf8_is_text(text: str) -> None:
    assert judge(text.encode()).is_text
    assert judge_whole(text.encode()).is_text


@pytest.mark.parametrize(
    ("data", "looks_like", "is_binary"),
    [
        ("hello".encode("utf-16"), "UTF-16 LE", False),
        (b"\xfe\xff" + "hello".encode("utf-16-be"), "UTF-16 BE", False),
        ("hello".encode("utf-32"), "UTF-32 LE", False),
        ("hello\n".encode("utf-16-le"), "UTF-16 LE without a byte order mark", True),
        ("hello\n".encode("utf-16-be"), "UTF-16 BE without a byte order mark", True),
        ("Grüße, café, naïve".encode("latin-1"), "latin-1", False),
        ("it’s a “test” — café".encode("cp1252"), "windows-1252", False),
        (CHINESE.encode("gbk"), "GBK", False),
        ("name=中文".encode("gbk"), "GBK", False),
        (TRADITIONAL.encode("big5"), "Big5", False),
        ("こんにちは、世界。テスト".encode("cp932"), "Shift-JIS", False),
        ("안녕하세요 세계 테스트입니다".encode("euc_kr"), "EUC-KR", False),
        ("Привет, мир. Это проверка".encode("cp1251"), "windows-1251", False),
        ("größe und länge ".encode() * 9 + b"\xff", "UTF-8 with damaged bytes", False),
        (b"\x00\x01\x02\x00\xff", None, True),
        (bytes(range(1, 256)), None, True),
        (b"\xff\xfe\x00\xdc", "UTF-16 LE", True),
    ],
)
def test_what_is_no_utf8_has_a_likely_name(data: bytes, looks_like: str | None, is_binary: bool) -> None:
    assert not judge_whole(data).is_text
    verdict = judge(data)
    assert not verdict.is_text
    assert (verdict.looks_like, verdict.is_binary) == (looks_like, is_binary)


@given(st.text(min_size=1), st.integers(0, 3))
def test_a_character_cut_at_the_edge_of_a_window_is_no_error(text: str, cut: int) -> None:
    data = text.replace("\0", "").encode()
    assert judge(data[: len(data) - cut], complete=False).is_text


@given(st.text(), st.integers(0, 3), st.integers(0, 3))
def test_windows_are_moved_to_whole_characters(text: str, before: int, after: int) -> None:
    data = text.encode()
    first, last = min(before, len(data)), max(min(before, len(data)), len(data) - after)
    start, end = whole_characters(data, first, last)
    assert first <= start <= end <= last or start >= end
    assert data[start:end].decode() in text
    assert start - first <= 3
    assert last - end <= 3


def test_what_is_far_from_the_start_is_looked_at_too() -> None:
    text = b"x" * 3_000_000
    assert judge_whole(text + "größe".encode()).is_text
    assert judge_whole(text + "größe".encode("latin-1")).looks_like == "latin-1"
    assert judge_whole("ö".encode() * 2_000_000 + b"\xff").looks_like == "UTF-8 with damaged bytes"
    assert judge_whole(text + b"\0" + text).is_binary


def test_random_bytes_are_never_taken_for_text() -> None:
    for _ in range(50):
        assert not judge(os.urandom(4_096)).is_text
