"""Whether what is stored was there before a request was first sent: then that request has had no effect yet."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from moorage_s3.answers import http_time
from moorage_s3.write_marks import WriteMarks

_INEXACT: Final = 2.0
"""Seconds by which the difference of two times of a store may be wrong: it tells whole ones, by several clocks."""


class Precedence:
    """Of one request, which begins now."""

    def __init__(self, write_marks: WriteMarks) -> None:
        self._write_marks = write_marks
        self._began = time.monotonic()

    def is_certain(self, key: str, headers: Mapping[str, str]) -> bool:
        """Whether the object that an answer to HEAD tells of is known to have been there before.

        Either this client had seen that very write, or the store's own clock says so.
        """
        if self._write_marks.knew(key, headers, self._began):
            return True
        now, written = http_time(headers.get("Date", "")), http_time(headers.get("Last-Modified", ""))
        if now is None or written is None:
            return False
        return (now - written).total_seconds() >= time.monotonic() - self._began + _INEXACT
