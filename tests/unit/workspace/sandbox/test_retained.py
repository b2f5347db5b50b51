"""The end of a stream in bounded memory."""

from __future__ import annotations

import logging
import tracemalloc

import pytest

from moorage_workspace.sandbox.retained import Retained

MIB = 1 << 20


def fed(limit: int, *chunks: bytes) -> tuple[str, int]:
    stream = Retained(limit)
    for chunk in chunks:
        stream.feed(chunk)
    stream.close()
    return stream.text()


def test_what_fits_is_kept_whole() -> None:
    assert fed(6, b"ab\n", b"cd\n") == ("ab\ncd\n", 0)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_the_end_is_kept_however_it_comes(size: int) -> None:
    data = bytes(range(97, 123)) * 3
    text, dropped = fed(10, *[data[start : start + size] for start in range(0, len(data), size)])
    assert (text, dropped) == ("qrstuvwxyz", len(data) - 10)


def test_nothing_may_be_kept() -> None:
    assert fed(0, b"abc", b"d") == ("", 4)


def test_a_cut_falls_between_characters() -> None:
    assert fed(4, "aa€€".encode()) == ("€", 5)


def test_a_cut_falls_between_lines_where_one_begins_nearby() -> None:
    assert fed(16, b"token=half-a-secret\nnext line\nlast") == ("next line\nlast", 20)


def test_what_is_no_utf8_is_replaced() -> None:
    assert fed(100, b"a\xff\xe2\x82") == ("a\ufffd\ufffd", 0)


def test_a_callback_gets_characters_whole() -> None:
    heard: list[str] = []
    stream = Retained(2, heard.append)
    for byte in "a€b\n".encode():
        stream.feed(bytes([byte]))
    stream.feed(b"\xe2")
    stream.close()
    assert heard == ["a", "€", "b", "\n", "\ufffd"]


def test_a_callback_that_fails_is_not_called_again(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []

    def fail(text: str) -> None:
        calls.append(text)
        raise RuntimeError("broken")

    stream = Retained(100, fail)
    with caplog.at_level(logging.ERROR):
        stream.feed(b"one")
        stream.feed(b"two")
        stream.close()
    assert calls == ["one"]
    assert [record.exc_info is not None for record in caplog.records] == [True]
    assert stream.text() == ("onetwo", 0)


@pytest.mark.parametrize("size", [1, 4096, 1 << 20])
def test_memory_is_bounded(size: int) -> None:
    chunk = b"x" * size
    stream = Retained(65536)
    tracemalloc.start()
    try:
        for _ in range(max(400_000 // size, 20)):
            stream.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * 65536 + size
