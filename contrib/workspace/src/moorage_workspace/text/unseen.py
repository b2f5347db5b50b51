"""Characters that deceive a reader: unseen ones, and those that turn the text around them."""

from __future__ import annotations

import re
from typing import Final

_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def spelled_out(text: str, *, keep: str = "") -> str:
    """The text with every such character as its code, ``\\u{202e}``, but for those in ``keep``. Idempotent."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else f"\\u{{{ord(found[0]):x}}}", text)
