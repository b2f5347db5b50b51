"""The one table from what GCS answers to Moorage's errors."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from moorage import (
    ConflictError,
    InvalidArgumentError,
    InvalidPathError,
    LimitExceededError,
    MoorageError,
    NameTooLongError,
    NoSpaceError,
    OperationTimeoutError,
    PathNotFoundError,
    PermissionDeniedError,
    StorageError,
    UnavailableError,
    UnsupportedError,
)

THROTTLED: Final = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
"""Reasons that say that the request was turned away before anything was done; they come with 403, too."""
_REASON: Final = re.compile(r"[A-Za-z]{1,64}")

_STATUSES: Final[dict[int, tuple[type[MoorageError], str]]] = {
    304: (ConflictError, "a precondition does not hold"),
    400: (StorageError, "the store does not understand the request"),
    401: (PermissionDeniedError, "the credentials were refused: unknown, expired or revoked"),
    403: (PermissionDeniedError, "forbidden"),
    404: (PathNotFoundError, "no such object"),
    405: (UnsupportedError, "the store does not implement this"),
    408: (OperationTimeoutError, "the store waited too long for the request"),
    409: (ConflictError, "the store asks to try again"),
    410: (UnavailableError, "the upload is gone"),
    411: (StorageError, "the store wants a length"),
    412: (ConflictError, "a precondition does not hold"),
    413: (LimitExceededError, "larger than the store takes"),
    414: (NameTooLongError, "longer than the store's names can be"),
    416: (InvalidArgumentError, "no such range"),
    429: (UnavailableError, "the store asks to slow down"),
    499: (UnavailableError, "the upload was cancelled"),
    501: (UnsupportedError, "the store does not implement this"),
    503: (UnavailableError, "the store asks to slow down"),
    507: (NoSpaceError, "the store is full"),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an answer other than success says.

    Attributes:
        reason: Google's word, or ``""`` where the answer has none, e.g. to a download.
        told: what is recognised in the message; nothing else of it is shown.
    """

    status: int
    reason: str = ""
    told: str = ""

    @property
    def is_throttling(self) -> bool:
        return self.status == 429 or (self.status == 403 and self.reason in THROTTLED)

    @property
    def is_failing(self) -> bool:
        """The server failed part-way: whether the request took effect is not known."""
        return (self.status >= 500 and self.status not in (501, 507)) or self.status == 408

    @property
    def is_unmet(self) -> bool:
        """A precondition does not hold."""
        return self.status in (304, 412)

    @property
    def is_of_bucket(self) -> bool:
        return self.status == 404 and self.told == "bucket"

    def error(self) -> MoorageError:
        """What a caller is told."""
        if self.is_of_bucket:
            return UnavailableError("no such bucket", retryable=False)
        if self.told == "requester pays":
            return PermissionDeniedError("forbidden: the bucket is requester pays; give user_project")
        if self.told == "name":
            return InvalidPathError("the store refuses this name")
        if self.is_throttling:
            return UnavailableError("the store asks to slow down")
        kind, words = _STATUSES.get(self.status) or self._unknown()
        detail = f" ({self.reason})" if self.reason and kind in (StorageError, PermissionDeniedError) else ""
        return kind(f"{words}{detail}")

    def _unknown(self) -> tuple[type[MoorageError], str]:
        return (UnavailableError if self.status >= 500 else StorageError), f"the store answered {self.status}"


def refusal(status: int, body: bytes) -> Refusal:
    """Read an answer other than success; whatever is in its body, this does not fail."""
    reason, message = "", body[:2000].decode("utf-8", "replace")
    try:
        error: Any = json.loads(body)["error"]
        message = str(error.get("message", ""))
        reason = _word(str(error["errors"][0].get("reason", "")))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        pass
    return Refusal(status, reason, _told(status, message.lower()))


def _told(status: int, message: str) -> str:
    if "requester pays" in message:
        return "requester pays"
    if status == 404 and "bucket" in message and "not exist" in message:
        return "bucket"
    if status == 400 and "object name" in message:
        return "name"
    return ""


def _word(value: str) -> str:
    """A reason, and nothing that could be a text of the server's choosing."""
    return value if _REASON.fullmatch(value) else ""
