"""Bodies of several parts, read as strictly as the real server does: lines end with CRLF, nothing less."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tests.servers.gcs.failures import RefusedError

BOUNDARY: Final = re.compile(r";\s*boundary=(?:\"([^\"]+)\"|([^\s;\"]+))", re.IGNORECASE)
CRLF: Final = b"\r\n"


@dataclass(frozen=True, slots=True)
class Part:
    """Headers, in lower case, and the bytes up to the CRLF before the next boundary."""

    headers: Mapping[str, str]
    body: bytes


def malformed(why: str) -> RefusedError:
    return RefusedError(400, "badContent", f"Malformed multipart body: {why}.")


def split_parts(content_type: str, body: bytes, *, bare_line_feeds: bool = False) -> list[Part]:
    """The parts, in order. What follows the closing boundary is ignored, even where a payload held a boundary.

    ``bare_line_feeds`` also takes a body all of whose lines, but for the payload's, end with LF.
    """
    match = BOUNDARY.search(content_type)
    if match is None:
        raise malformed("the Content-Type names no boundary")
    delimiter = b"--" + (match.group(1) or match.group(2)).encode()
    end = b"\n" if bare_line_feeds and body.startswith(delimiter + b"\n") else CRLF
    if not body.startswith(delimiter):
        _, found, body = body.partition(end + delimiter)
        if not found:
            raise malformed("it does not begin with the boundary")
    else:
        body = body[len(delimiter) :]
    return list(_parts(body, delimiter, end))


def _parts(body: bytes, delimiter: bytes, end: bytes) -> Iterator[Part]:
    """``body`` begins behind a boundary."""
    while not body.startswith(b"--"):
        padding, found, rest = body.partition(end)
        if not found or padding.strip(b" \t"):
            raise malformed("a boundary does not end with CRLF")
        content, found, body = rest.partition(end + delimiter)
        if not found:
            raise malformed("the closing boundary is missing")
        yield _part(content, end)


def _part(content: bytes, end: bytes) -> Part:
    if content.startswith(end):
        return Part({}, content[len(end) :])
    head, found, body = content.partition(end + end)
    if not found:
        raise malformed("the headers of a part do not end with an empty line")
    return Part(parse_headers(head, end), body)


def parse_headers(head: bytes, end: bytes = CRLF) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in head.split(end):
        name, colon, value = line.partition(b":")
        if not colon or b"\n" in line:
            raise malformed("a header of a part is none")
        headers[name.strip().decode("latin-1").lower()] = value.strip().decode("latin-1")
    return headers


def join_parts(boundary: str, parts: Iterable[Part]) -> bytes:
    joined: list[bytes] = []
    for part in parts:
        head = "".join(f"{name}: {value}\r\n" for name, value in part.headers.items())
        joined += [f"--{boundary}\r\n{head}\r\n".encode(), part.body, CRLF]
    return b"".join([*joined, f"--{boundary}--\r\n".encode()])
