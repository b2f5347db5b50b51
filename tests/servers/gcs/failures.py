"""What GCS answers when it refuses: status, reason and message in Google's JSON shape."""

from __future__ import annotations

import json
from http import HTTPStatus


class RefusedError(Exception):
    """A request that the server refuses; it becomes the answer."""

    def __init__(self, status: int, reason: str, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.headers = headers or {}

    def body(self, *, media: bool) -> tuple[str, bytes]:
        """Content type and body; downloads are refused in plain text, a 304 without a body."""
        if self.status == HTTPStatus.NOT_MODIFIED:
            return "application/json; charset=UTF-8", b""
        if media:
            return "text/html; charset=UTF-8", self.message.encode()
        error = {"message": self.message, "domain": "global", "reason": self.reason}
        document = {"error": {"code": self.status, "message": self.message, "errors": [error]}}
        return "application/json; charset=UTF-8", json.dumps(document).encode()


def no_bucket() -> RefusedError:
    return RefusedError(404, "notFound", "The specified bucket does not exist.")


def no_object(bucket: str, name: str) -> RefusedError:
    return RefusedError(404, "notFound", f"No such object: {bucket}/{name}")


def condition_not_met() -> RefusedError:
    return RefusedError(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")


def not_modified() -> RefusedError:
    return RefusedError(304, "notModified", "Not modified")


def invalid(message: str) -> RefusedError:
    return RefusedError(400, "invalid", message)


def rate_limited(bucket: str, name: str) -> RefusedError:
    message = f"The object {bucket}/{name} exceeded the rate limit for object mutation operations."
    return RefusedError(429, "rateLimitExceeded", message)
