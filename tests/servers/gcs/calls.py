"""One request and one answer, apart from any transport: a batch holds many of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from tests.servers.gcs.failures import invalid

NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Call:
    """A request. ``path`` is as it came, percent-encoded; header names are lower case.

    Attributes:
        complete: the whole body arrived; otherwise the connection broke within it.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = True
    raw_query: str = ""

    @classmethod
    def of(
        cls, method: str, target: str, headers: Mapping[str, str], body: bytes = b"", *, complete: bool = True
    ) -> Call:
        split = urlsplit(target)
        query = dict(parse_qsl(split.query, keep_blank_values=True))
        return cls(method, split.path, query, headers, body, complete, split.query)

    @property
    def media(self) -> bool:
        return self.query.get("alt") == "media"

    def number(self, name: str) -> int | None:
        """The query's number of this name, or ``None``."""
        text = self.query.get(name)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise invalid(f"Invalid value for {name}: {text!r}") from None

    def document(self) -> dict[str, Any]:
        """The JSON object in the body; an empty body is an empty one."""
        return parse_document(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. Headers have their usual spelling; the length is the transport's."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def json_answer(document: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    fields = {"Content-Type": "application/json; charset=UTF-8", **headers}
    return Answer(status, fields, json.dumps(document).encode())


def parse_document(data: bytes) -> dict[str, Any]:
    if not data:
        return {}
    try:
        found = json.loads(data)
    except ValueError:
        raise invalid("Parse Error") from None
    if not isinstance(found, dict):
        raise invalid("Parse Error")
    return found


def decoded(segment: str) -> str:
    """A segment of a path, as text."""
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise invalid("The path is not valid UTF-8.") from None
