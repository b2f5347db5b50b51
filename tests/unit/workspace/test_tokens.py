"""Counting tokens: an estimate that is never far under, and tiktoken only where it needs no network."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from moorage_workspace import tokens
from moorage_workspace.tokens import default_counter, estimate

# the true numbers were counted with o200k_base and cl100k_base
COUNTED = [
    ("The workspace hands tools to an agent that are safe to hand out, on any storage.", 18, 18),
    ("def f(path: str) -> int:\n    return len(path.split('/'))\n", 16, 16),
    ('{"id": 7919, "name": "item-1", "tags": ["alpha", "beta"]}', 25, 24),
    ("每次写入之前都会检查文件是否已经被别人修改过", 14, 20),
    ("書き込みの前にファイルが変更されていないか確認し", 17, 28),
    ("쓰기 전에 파일이 변경되었는지 확인하고", 11, 17),
    ("Перед записью проверяется, изменился ли файл.", 11, 16),
]


@pytest.fixture(autouse=True)
def asked_for_the_first_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    default_counter.cache_clear()
    yield tmp_path
    default_counter.cache_clear()


@pytest.mark.parametrize(("text", "newer", "older"), COUNTED)
def test_the_estimate_is_near(text: str, newer: int, older: int) -> None:
    assert 0.75 * max(newer, older) <= estimate(text) <= 2.1 * min(newer, older)


@pytest.mark.parametrize("text", ["", " ", "a", "\x00", "\ud800", "🎉", "<|endoftext|>", "\u0301"])
def test_the_estimate_never_raises(text: str) -> None:
    assert 0 <= estimate(text) <= 10


def test_the_estimate_grows_with_the_text() -> None:
    for unit in ("word ", "漢", "Zx9+", "\n" * 16, " " * 64, "é", "ABC", "{}"):
        assert estimate(unit * 1_000) >= 400, unit


class FetchedError(AssertionError):
    pass


def tiktoken_with(monkeypatch: pytest.MonkeyPatch, directory: Path, *, cached: bytes, wanted: bytes) -> None:
    """A tiktoken that, as the real one, fetches an encoding that its cache does not have."""
    file = directory / "an-encoding"
    file.write_bytes(cached)
    monkeypatch.setattr(tokens, "_ENCODINGS", {"named": (file.name, hashlib.sha256(wanted).hexdigest())})

    class Encoding:
        def __init__(self, name: str) -> None:
            if name != "named" or file.read_bytes() != wanted:
                raise FetchedError

        def encode_ordinary(self, text: str) -> list[int]:
            assert len(text) <= 4_096
            return [0] * len(text)

    module = ModuleType("tiktoken")
    monkeypatch.setattr(module, "get_encoding", Encoding, raising=False)
    monkeypatch.setitem(sys.modules, "tiktoken", module)


def test_tiktoken_counts_where_its_encoding_is_there(
    monkeypatch: pytest.MonkeyPatch, asked_for_the_first_time: Path
) -> None:
    tiktoken_with(monkeypatch, asked_for_the_first_time, cached=b"ranks", wanted=b"ranks")
    assert default_counter()("x" * 10_000) == 10_000
    assert default_counter() is default_counter()


def test_tiktoken_is_not_asked_for_what_it_would_fetch(
    monkeypatch: pytest.MonkeyPatch, asked_for_the_first_time: Path
) -> None:
    tiktoken_with(monkeypatch, asked_for_the_first_time, cached=b"other", wanted=b"ranks")
    assert default_counter() is estimate
    default_counter.cache_clear()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert default_counter() is estimate


def test_a_broken_tiktoken_is_passed_over(monkeypatch: pytest.MonkeyPatch, asked_for_the_first_time: Path) -> None:
    tiktoken_with(monkeypatch, asked_for_the_first_time, cached=b"ranks", wanted=b"ranks")
    monkeypatch.setattr(sys.modules["tiktoken"], "get_encoding", None)
    assert default_counter() is estimate
