"""How many tokens a text has for a model, near enough to cap it."""

from __future__ import annotations

import hashlib
import importlib
import logging
import math
import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, cast

from moorage_workspace.checks import OPTIONS

_log: Final = logging.getLogger("moorage.workspace")

TokenCounter = Callable[[str], int]
"""How many tokens a text counts as; never raises."""

_ENCODINGS: Final = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""tiktoken's encodings, the better first: the name of the file in its cache, and the file's SHA-256."""
_PIECE: Final = 4_096
"""Characters given to tiktoken at once: its time grows with the square of a run without a break."""

_WORD: Final = re.compile(r"[A-Z]?[a-z]+")
_CAPITALS: Final = re.compile(r"[A-Z]+(?![a-z])")
_DIGITS: Final = re.compile(r"[0-9]{1,3}")
_MARKS: Final = re.compile(r"[^\sA-Za-z0-9\u0080-\U0010ffff]{1,2}")
_SPACE: Final = re.compile(r"\n{1,16}[ \t]{0,64}|[ \t]{2,64}|[\r\f\v]")
_LETTERS_OF_A_TOKEN: Final = 7
_WIDE: Final = (
    (1.0, re.compile("[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")),
    (0.45, re.compile("[\u0080-\u058f\u1e00-\u2e7f\ua640-\ua69f]")),
    (0.7, re.compile("[\u0590-\u1dff\ua000-\ua63f\ua6a0-\uabff\ud800-\uf8ff\ufb00-\ufeff\ufff0-\uffff]")),
    (3.0, re.compile("[\U00010000-\U0001ffff\U00040000-\U0010ffff]")),
)
"""Tokens a character: of CJK, of Latin with accents, Greek and Cyrillic, of other alphabets, of emoji and the rest."""


def estimate(text: str) -> int:
    """Roughly how many tokens a text has.

    Measured against o200k_base and cl100k_base, as a part of the true number: English, German and code 0.9 to 1.25;
    JSON, listings and lock files 0.9 to 1; Chinese, Japanese and Korean 1 to 1.5; Cyrillic 1 to 1.8; Arabic and emoji
    0.8 to 2.1; base64 0.75 to 0.85.
    """
    tokens = float(sum(1 + (len(word) - 1) // _LETTERS_OF_A_TOKEN for word in _WORD.findall(text)))
    tokens += sum((len(word) + 2) // 3 for word in _CAPITALS.findall(text))
    tokens += len(_DIGITS.findall(text)) + len(_MARKS.findall(text)) + len(_SPACE.findall(text))
    if not text.isascii():
        tokens += sum(each * len(characters.findall(text)) for each, characters in _WIDE)
    return math.ceil(tokens)


@cache
def default_counter() -> TokenCounter:
    """tiktoken's count where it is installed and has an encoding in its cache, else :func:`estimate`.

    Decided once, when first asked. Never uses the network, and never raises.
    """
    for name in _ENCODINGS:
        if _is_cached(name):
            counter = _tiktoken(name)
            if counter is not None:
                return counter
    return estimate


def checked_counter(count: TokenCounter) -> TokenCounter:
    """An application's counter, of which no call depends: a text that it fails to count is estimated.

    Raises:
        ConfigError: it cannot be called, or is a coroutine function.
    """
    OPTIONS.plain_function("count_tokens", count)
    told = False

    def counted(text: str) -> int:
        nonlocal told
        try:
            tokens = cast("object", count(text))
            if isinstance(tokens, int) and tokens >= 0:
                return tokens
            raise OPTIONS.wrong("what count_tokens returns", "a number of tokens", tokens)
        except Exception:
            if not told:
                _log.exception("count_tokens failed; what it fails for is estimated, and this is not said again")
            told = True
            return estimate(text)

    return counted


def _is_cached(name: str) -> bool:
    """Whether tiktoken would find the very file that it wants, and so not fetch it."""
    file, digest = _ENCODINGS[name]
    directory = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    path = Path(directory if directory is not None else Path(tempfile.gettempdir(), "data-gym-cache"), file)
    try:
        return bool(directory != "") and hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def _tiktoken(name: str) -> TokenCounter | None:
    try:
        encode = importlib.import_module("tiktoken").get_encoding(name).encode_ordinary
    except Exception:
        return None  # whatever an optional package does, a text can still be estimated

    def count(text: str) -> int:
        return sum(len(encode(text[start : start + _PIECE])) for start in range(0, len(text), _PIECE))

    return count
