"""Many requests in one: ``multipart/mixed`` with a whole HTTP request in each part."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from tests.servers.gcs.calls import Answer, Call
from tests.servers.gcs.failures import invalid
from tests.servers.gcs.multiparts import CRLF, Part, join_parts, malformed, parse_headers, split_parts

MOST: Final = 100
INNER_WORDS: Final = 2


def batch(call: Call, handle: Callable[[Call], Answer]) -> Answer:
    """Handle each request on its own: one that is refused says so in its part, and the others are done."""
    parts = split_parts(call.headers.get("content-type", ""), call.body)
    if len(parts) > MOST:
        raise invalid(f"The batch has {len(parts)} calls; the limit is {MOST}.")
    calls = [_inner(part, call) for part in parts]  # nothing is done where one of them is none
    answers = [_answered(part, handle(inner)) for part, inner in zip(parts, calls, strict=True)]
    boundary = f"batch_{secrets.token_hex(12)}"
    return Answer(200, {"Content-Type": f"multipart/mixed; boundary={boundary}"}, join_parts(boundary, answers))


def _inner(part: Part, outer: Call) -> Call:
    head, _, body = part.body.partition(CRLF + CRLF)
    line, _, rest = head.rstrip(CRLF).partition(CRLF)
    words = line.decode("latin-1").split(" ")
    if len(words) < INNER_WORDS:
        raise malformed("a part holds no request")
    headers = parse_headers(rest) if rest else {}
    headers.setdefault("authorization", outer.headers.get("authorization", ""))
    inner = Call.of(words[0], words[1], headers, body)
    if inner.media or not inner.path.startswith("/storage/v1/"):
        raise invalid("A batch takes no uploads, downloads and batches.")
    return inner


def _answered(part: Part, answer: Answer) -> Part:
    headers = {**answer.headers, "Content-Length": str(len(answer.body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    status = f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n"
    outer = {"Content-Type": "application/http"}
    if "content-id" in part.headers:
        given = part.headers["content-id"]
        outer["Content-ID"] = f"<response-{given[1:]}" if given.startswith("<") else f"response-{given}"
    return Part(outer, f"{status}{head}\r\n".encode() + answer.body)
