"""The one table from what S3 answers to Moorage's errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from moorage import (
    ConflictError,
    InvalidArgumentError,
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
from moorage_s3.documents import parse, text

_CODE: Final = re.compile("[A-Za-z.]{1,64}")
_REGION: Final = re.compile("[A-Za-z][A-Za-z0-9]{1,15}(?:-[A-Za-z0-9]{1,16}){0,4}")
EXPIRED: Final = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
SKEWED: Final = "RequestTimeTooSkewed"
THROTTLED: Final = frozenset(
    {
        "SlowDown",
        "SlowDownRead",
        "SlowDownWrite",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "RequestLimitExceeded",
        "RequestThrottled",
        "BandwidthLimitExceeded",
    }
)
"""Answers that say that the request was turned away before anything was done."""

_WORDS: Final[dict[str, tuple[type[MoorageError], str]]] = {
    "NoSuchBucket": (UnavailableError, "no such bucket"),
    "NoSuchKey": (PathNotFoundError, "no such key"),
    "NoSuchUpload": (ConflictError, "the upload is gone"),
    "AccessDenied": (PermissionDeniedError, "forbidden"),
    "AllAccessDisabled": (PermissionDeniedError, "forbidden"),
    "AccountProblem": (PermissionDeniedError, "forbidden: the account has a problem"),
    "InvalidAccessKeyId": (PermissionDeniedError, "forbidden: the store does not know this access key"),
    "SignatureDoesNotMatch": (PermissionDeniedError, "forbidden: the secret key is wrong, or a header was changed"),
    "InvalidToken": (PermissionDeniedError, "forbidden: the session token is not valid"),
    "ExpiredToken": (PermissionDeniedError, "forbidden: the credentials have expired"),
    "RequestTimeTooSkewed": (PermissionDeniedError, "clock skew: this machine's clock and the store's differ too much"),
    "PermanentRedirect": (UnavailableError, "wrong region"),
    "AuthorizationHeaderMalformed": (UnavailableError, "wrong region"),
    "IllegalLocationConstraintException": (UnavailableError, "wrong region"),
    "InvalidObjectState": (UnavailableError, "archived: the object must be restored first"),
    "KeyTooLongError": (NameTooLongError, "longer than the store's keys can be"),
    "EntityTooLarge": (LimitExceededError, "larger than the store takes"),
    "QuotaExceeded": (NoSpaceError, "a quota is used up"),
    "XMinioStorageFull": (NoSpaceError, "the store is full"),
    "InsufficientStorage": (NoSpaceError, "the store is full"),
    "RequestTimeout": (OperationTimeoutError, "the store waited too long for the request"),
    "NotImplemented": (UnsupportedError, "the store does not implement this"),
    "ConditionalRequestConflict": (ConflictError, "the store asks to try again"),
    "OperationAborted": (ConflictError, "the store asks to try again"),
}
_LASTING: Final = frozenset({"NoSuchBucket", "InvalidObjectState", "PermanentRedirect", "AuthorizationHeaderMalformed"})
_STATUS_OF: Final = {
    "PreconditionFailed": 412,
    "ConditionalRequestConflict": 409,
    "NoSuchKey": 404,
    "NoSuchUpload": 404,
    "AccessDenied": 403,
    "SlowDown": 503,
}
"""Statuses of errors that may also end an answer that began with 200."""
_STATUSES: Final[dict[int, tuple[type[MoorageError], str]]] = {
    301: (UnavailableError, "wrong region"),
    307: (UnavailableError, "wrong region"),
    400: (StorageError, "the store does not understand the request"),
    401: (PermissionDeniedError, "forbidden"),
    403: (PermissionDeniedError, "forbidden"),
    404: (PathNotFoundError, "no such key"),
    405: (PermissionDeniedError, "forbidden: not allowed on this object"),
    408: (OperationTimeoutError, "the store waited too long for the request"),
    409: (ConflictError, "the store asks to try again"),
    411: (StorageError, "the store wants a length"),
    413: (LimitExceededError, "larger than the store takes"),
    414: (NameTooLongError, "longer than the store's keys can be"),
    416: (InvalidArgumentError, "no such range"),
    429: (UnavailableError, "the store asks to slow down"),
    501: (UnsupportedError, "the store does not implement this"),
    503: (UnavailableError, "the store asks to slow down"),
    507: (NoSpaceError, "the store is full"),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an answer other than success says.

    Attributes:
        code: S3's, or ``""`` where the answer has no body, e.g. to HEAD.
        region: where the bucket is, if the answer says so.
    """

    status: int
    code: str = ""
    region: str = ""

    @property
    def is_throttling(self) -> bool:
        return self.status == 429 or (self.status == 503 and self.code in ("", *THROTTLED)) or self.code in THROTTLED

    @property
    def is_failing(self) -> bool:
        """The server failed part-way: whether the request took effect is not known."""
        return self.status >= 500 and self.status not in (501, 507)

    @property
    def is_unclear(self) -> bool:
        """Whether the request may have taken effect: it failed part-way, or whatever is before the store gave up.

        A 503 of S3's own says that nothing was done; one without its words may come from a proxy, at any time.
        """
        return self.is_failing and self.code not in THROTTLED

    def error(self) -> MoorageError:
        """What a caller is told."""
        kind, words = _WORDS.get(self.code) or self._by_status()
        if words == "wrong region" and self.region:
            words = f"wrong region: the bucket is in {self.region}"
        return kind(words, retryable=False if self.code in _LASTING else None)

    def _by_status(self) -> tuple[type[MoorageError], str]:
        if self.status in _STATUSES:
            kind, words = _STATUSES[self.status]
            return kind, f"{words} ({self.code})" if self.code else words
        said = f"{self.status} {self.code}".strip()
        return (UnavailableError if self.status >= 500 else StorageError), f"the store answered {said}"


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> Refusal:
    """Read an answer other than success; whatever is in its body, this does not fail."""
    code = region = ""
    if status < 300:
        status = 500  # an answer that began well and ended badly
    if body:
        try:
            root = parse(body)
        except StorageError:
            root = None
        if root is not None:
            code, region = _code(text(root, "Code")), _region(text(root, "Region"))
    return Refusal(_STATUS_OF.get(code, status), code, _region(headers.get("x-amz-bucket-region", "")) or region)


def _code(value: str) -> str:
    """A code, and nothing that could be a text of the server's choosing, or something of the request's."""
    return value if _CODE.fullmatch(value) else ""


def _region(value: str) -> str:
    return value if _REGION.fullmatch(value) else ""
