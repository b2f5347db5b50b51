"""What the proxy can do to a request, and the rules that say to which."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DropRequest:
    """Close the connection; the server never hears of it."""


@dataclass(frozen=True, slots=True)
class DropResponse:
    """Let the server do it, then close the connection without a word."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Hold the request back, or with ``after`` the response, and then go on.

    Attributes:
        seconds: for how long; ``None``: until released.
        release: goes on when it is set; without it and without ``seconds``, the client has to give up first.
    """

    seconds: float | None = None
    release: threading.Event | None = None
    after: bool = False


@dataclass(frozen=True, slots=True)
class CutBody:
    """Relay the response's head and only so many bytes of its body, then close the connection."""

    keep: int


@dataclass(frozen=True, slots=True)
class CutUpload:
    """Forward only so many bytes of the request's body, then close both connections."""

    keep: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer this instead of asking the server; with ``after`` the server does it first, and its answer is lost."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    after: bool = False


@dataclass(frozen=True, slots=True)
class StripConditions:
    """Forward it without its conditions, as if the server did not know them."""


@dataclass(frozen=True, slots=True)
class StripRange:
    """Forward it without its range: the answer is 200 and the whole."""


Action = DropRequest | DropResponse | Stall | CutBody | CutUpload | Answer | StripConditions | StripRange


def s3_error(status: int, code: str, *, retry_after: int | None = None, after: bool = False) -> Answer:
    """An S3 error, e.g. ``s3_error(503, "SlowDown", retry_after=1)``."""
    return Answer(status, _headers("application/xml", retry_after), _s3_body(code), after)


def s3_error_in_200(code: str = "InternalError", *, after: bool = False) -> Answer:
    """Status 200 with an error as its body, which CopyObject, UploadPartCopy and CompleteMultipartUpload may answer."""
    return Answer(200, _headers("application/xml", None), _s3_body(code), after)


def gcs_error(
    status: int, reason: str = "backendError", *, retry_after: int | None = None, after: bool = False
) -> Answer:
    """A GCS error, e.g. ``gcs_error(429, "rateLimitExceeded")``."""
    message = f"made up: {reason}"
    error = {"message": message, "domain": "global", "reason": reason}
    document = {"error": {"code": status, "message": message, "errors": [error]}}
    return Answer(
        status, _headers("application/json; charset=UTF-8", retry_after), json.dumps(document).encode(), after
    )


def _headers(content_type: str, retry_after: int | None) -> dict[str, str]:
    return {"Content-Type": content_type} | ({} if retry_after is None else {"Retry-After": str(retry_after)})


def _s3_body(code: str) -> bytes:
    text = f"<Error><Code>{code}</Code><Message>made up</Message><RequestId>0</RequestId></Error>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()


@dataclass(slots=True)
class Rule:
    """An action, and which requests get it: those that fit everything given.

    Attributes:
        kind: one kind of request, or several (see :mod:`tests.servers.kinds`).
        method: an HTTP method.
        target: a regular expression that occurs somewhere in the target: the path with its query, as it was sent.
        nth: only the n-th of the requests that fit, counted from 1, or several of them.
        probability: of each one, drawn from a generator with this ``seed``.
        times: how often at most.
        seen: how many requests fitted so far.
        fired: how many of them got the action.
    """

    action: Action
    kind: str | Collection[str] | None = None
    method: str | None = None
    target: str | None = None
    nth: int | Collection[int] | None = None
    probability: float = 1.0
    seed: int = 0
    times: int | None = None
    seen: int = 0
    fired: int = 0
    _random: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def fires(self, kind: str, method: str, target: str) -> bool:
        """Whether this request gets the action; counts it."""
        if not self._fits(kind, method, target):
            return False
        self.seen += 1
        drawn = self._random.random() < self.probability
        fires = drawn and self._is_turn() and (self.times is None or self.fired < self.times)
        self.fired += fires
        return fires

    def _fits(self, kind: str, method: str, target: str) -> bool:
        kinds = (self.kind,) if isinstance(self.kind, str) else self.kind
        return (
            (kinds is None or kind in kinds)
            and (self.method is None or self.method == method)
            and (self.target is None or re.search(self.target, target) is not None)
        )

    def _is_turn(self) -> bool:
        turns = (self.nth,) if isinstance(self.nth, int) else self.nth
        return turns is None or self.seen in turns
