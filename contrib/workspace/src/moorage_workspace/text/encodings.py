"""Is it text, and in which encoding? Decided by content, never by a name."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

UTF8_BOM: Final = codecs.BOM_UTF8
SNIFFED: Final = 8 * 1024
"""Bytes of a file's start that are enough to decide by."""

_BOMS: Final = (  # the longer ones first, since UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32 LE"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32 BE"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 LE"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 BE"),
)
_GUESSED_FROM: Final = 64 * 1024
_CHECKED_AT_ONCE: Final = 1024 * 1024
_PLAUSIBLE: Final = 0.2
_CONTROLS: Final = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_WESTERN: Final = re.compile(r"(?<![^\x00-\x7f])[^\x00-\x7f]{1,2}(?![^\x00-\x7f])")
_KANA: Final = "".join(map(chr, range(0x3041, 0x30FF)))
_FREQUENT: Final = (
    ("Shift-JIS", "cp932", _KANA + "日本人年大一国中出事者会時行分"),
    (
        "EUC-KR",
        "euc_kr",
        "이다는의에을가고하지로도은기리사한자어를니나대해시서인으들라부정일그여수아스있전안녕세요글국",
    ),
    (
        "GBK",
        "gbk",
        "的一是不了人在有我他这中大来上国个到说们为子和你地出也时年得就那要下以生会自着去之过家学对可里后小么心多天而能"
        "好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同已从动两长世界编码测试",
    ),
    (
        "Big5",
        "big5",
        "的一是不了人在有我他這中大來上國個到說們為子和你地出也時年得就那要下以生會自著去之過家學對可裡後小麼心多天而能"
        "好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同已從動兩長世界編碼測試",
    ),
    ("windows-1251", "cp1251", "оеаинтсрвлкмдпуяызОЕАИНТСРВЛКМДПУ"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What some bytes are.

    Attributes:
        is_text: UTF-8, and so what the tools show and edit.
        is_binary: no text in any encoding that is known by its start.
        looks_like: the likely encoding of what is no UTF-8, for a message; ``None`` where there is no telling.
    """

    is_text: bool
    is_binary: bool = False
    looks_like: str | None = None


_TEXT: Final = Verdict(is_text=True)


def judge(data: bytes, *, complete: bool = True) -> Verdict:
    """What ``data``, the start of some content, is.

    Args:
        complete: nothing follows; else a character may be cut at the end.
    """
    for bom, codec, name in _BOMS:
        if data.startswith(bom):
            return Verdict(is_text=False, is_binary=not _decodes(data, codec), looks_like=name)
    if b"\0" in data:
        return Verdict(is_text=False, is_binary=True, looks_like=_without_bom(data))
    if is_utf8(data, complete=complete):
        return _TEXT
    sample = data[:_GUESSED_FROM]
    if len(_CONTROLS.findall(sample)) * 20 > len(sample):
        return Verdict(is_text=False, is_binary=True)
    return Verdict(is_text=False, looks_like=_legacy(sample))


def judge_whole(data: bytes) -> Verdict:
    """What the whole content is, every byte of it looked at."""
    verdict = judge(data[:SNIFFED], complete=len(data) <= SNIFFED)
    if not verdict.is_text or len(data) <= SNIFFED:
        return verdict
    zero = data.find(b"\0")
    at = _first_bad(data) if zero < 0 else zero
    if at is None:
        return _TEXT
    return judge(data[at - min(at, SNIFFED // 2) : at + SNIFFED // 2], complete=False)


def is_utf8(data: bytes, *, complete: bool = True) -> bool:
    """Whether all of it is strict UTF-8; a character cut at the end counts only if ``complete``."""
    return data.isascii() or _first_bad(data, complete=complete) is None


def whole_characters(data: bytes, start: int, end: int) -> tuple[int, int]:
    """``[start, end)`` moved inwards, by three bytes at most, to where characters of UTF-8 begin and end."""
    for _ in range(3):
        if start < end and data[start] & 0xC0 == 0x80:
            start += 1
    for back in range(1, min(4, end - start + 1)):
        lead = data[end - back]
        if lead & 0xC0 != 0x80:
            wanted = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return start, end if wanted <= back else end - back
    return start, end


def _first_bad(data: bytes, *, complete: bool = True) -> int | None:
    if data.isascii():
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHECKED_AT_ONCE):
        last = start + _CHECKED_AT_ONCE >= len(data)
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _CHECKED_AT_ONCE], last and complete)
        except UnicodeDecodeError as error:
            return start - pending + error.start
    return None


def _decodes(data: bytes, codec: str) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(data)
    except UnicodeError:
        return False
    return True


def _without_bom(data: bytes) -> str | None:
    sample = data[: _GUESSED_FROM & ~1]
    zeros_first, zeros_second = sample[::2].count(0), sample[1::2].count(0)
    if zeros_first == 0 < zeros_second and _decodes(sample, "utf-16-le"):
        return "UTF-16 LE without a byte order mark"
    if zeros_second == 0 < zeros_first and _decodes(sample, "utf-16-be"):
        return "UTF-16 BE without a byte order mark"
    return None


def _legacy(sample: bytes) -> str | None:
    if _is_damaged_utf8(sample):
        return "UTF-8 with damaged bytes"
    scores = [(_share(sample, codec, frequent), name) for name, codec, frequent in _FREQUENT]
    as_latin = sample.decode("latin-1")
    high = sum(char > "\x7f" for char in as_latin)
    isolated = sum(len(match[0]) for match in _WESTERN.finditer(as_latin))
    western = "windows-1252" if re.search("[\x80-\x9f]", as_latin) else "latin-1"
    scores.append((0.9 * isolated / high if high else 0.0, western))
    score, name = max(scores, key=lambda scored: scored[0])
    return name if score >= _PLAUSIBLE else None


def _is_damaged_utf8(sample: bytes) -> bool:
    kept = sample.decode("utf-8", "ignore")
    good = sum(char > "\x7f" for char in kept)
    return len(sample) - len(kept.encode()) < good


def _share(sample: bytes, codec: str, frequent: str) -> float:
    """How many of the characters beyond ASCII are frequent ones of the language; 0 where it does not decode."""
    try:
        text = codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeError:
        return 0.0
    beyond = [char for char in text if char > "\x7f"]
    return sum(char in frequent for char in beyond) / len(beyond) if beyond else 0.0
