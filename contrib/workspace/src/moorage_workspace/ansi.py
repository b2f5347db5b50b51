"""Terminal output as plain text: what would have stayed on the screen, without colours and cursor movements.

To be done before redaction, since an escape sequence may part a secret.
"""

from __future__ import annotations

import re
from typing import Final

_STRING: Final = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"
"""OSC, DCS, SOS, PM and APC. One that is not ended goes on to the end of the line, and hides no more than that."""
_CSI: Final = r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
_SINGLE: Final = r"\x1b[ -/]*+[0-~]?"
_CONTROL: Final = r"[\x00-\x07\x0e-\x1f\x7f-\x9f]"
_SEQUENCE: Final = re.compile(f"{_STRING}|{_CSI}|{_SINGLE}|{_CONTROL}")
_OPEN: Final = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*\x1b?\Z|(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z|\x1b[ -/]*\Z"
)
_LONGEST_HELD: Final = 8_192


def strip(text: str) -> str:
    """The text without escape sequences and control characters other than tab, line feed, vertical tab, form feed.

    Of a line that was written over with carriage returns, as progress is shown, the last state stays; a backspace takes
    the character before it; CRLF becomes LF.
    """
    text = _SEQUENCE.sub("", text)
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_settled(line) for line in text.replace("\r\n", "\n").split("\n"))


def _settled(line: str) -> str:
    if "\r" in line:
        line = next((state for state in reversed(line.split("\r")) if state), "")
    if "\b" not in line:
        return line
    kept: list[str] = []
    for character in line:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)


class StreamStripper:
    """Takes escape sequences and control characters out of a text that arrives in pieces, cut anywhere.

    Carriage returns and backspaces stay, since what they leave is only known at the end; :func:`strip` sees to them.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown now; a sequence that is not complete is held back, 8 KiB of it at most."""
        text = self._held + text
        tail = _OPEN.search(text, max(0, len(text) - _LONGEST_HELD))
        at = tail.start() if tail is not None else len(text)
        self._held = text[at:]
        return _SEQUENCE.sub("", text[:at])

    def finish(self) -> str:
        """Nothing, as it is: what is still held is a sequence without its end."""
        rest, self._held = _SEQUENCE.sub("", self._held), ""
        return rest
