"""What a user gave as credentials: kept out of every text, and not yet looked at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, NoReturn

Token = str | tuple[str, datetime | float | None]
"""An access token, or one with the time at which it runs out: aware, or seconds since the epoch."""

TokenCall = Callable[[], Token | Awaitable[Token]]
"""A function, plain or async, without arguments. A plain one runs in a thread. Called again when what it returned is
about to run out, after five minutes if it does not say when, and when the store refuses what it returned."""

Kind = Literal["anonymous", "default", "key", "key_file", "token", "token_file", "google", "call"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to authenticate; neither shown by ``repr`` nor pickled.

    Attributes:
        value: the content of a key (``key``), the path of one or of a token (``key_file``, ``token_file``), a token, an
            object of google-auth (``google``), a :data:`TokenCall` (``call``), or nothing (``anonymous``, ``default``).
    """

    kind: Kind
    value: Mapping[str, object] | Path | str | TokenCall | object | None = field(default=None, repr=False)

    def __reduce__(self) -> NoReturn:
        raise TypeError("credentials are not pickled")
