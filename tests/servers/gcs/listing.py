"""Listings: prefix, delimiter, offsets and pages. ``fields`` and ``projection`` are ignored: all is shown."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from tests.servers.gcs.calls import Answer, Call, json_answer
from tests.servers.gcs.failures import invalid
from tests.servers.gcs.state import Bucket, State


@dataclass(frozen=True, slots=True)
class Asked:
    """A listing as asked for. ``after`` is where the last page ended: a name, or a whole prefix."""

    prefix: str
    delimiter: str
    start: str
    end: str
    trailing: bool
    after: str
    limit: int


def list_objects(state: State, call: Call, base_url: str, bucket: str) -> Answer:
    asked = _asked(state, call)
    found = state.bucket(bucket)
    names, prefixes, more = _page(found, asked)
    document: dict[str, Any] = {"kind": "storage#objects"}
    if names:
        document["items"] = [found.objects[name].resource(base_url) for name in names]
    if prefixes:
        document["prefixes"] = prefixes
    if more:
        last = max([*names[-1:], *prefixes[-1:]], key=str.encode)
        document["nextPageToken"] = base64.urlsafe_b64encode(last.encode()).decode()
    return json_answer(document)


def _asked(state: State, call: Call) -> Asked:
    if "matchGlob" in call.query:
        raise invalid("This server knows no matchGlob.")
    limit = call.number("maxResults")
    if limit is not None and limit < 1:
        raise invalid(f"Invalid value for maxResults: {limit}")
    try:
        after = base64.b64decode(call.query.get("pageToken", ""), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("Invalid pageToken") from None
    return Asked(
        call.query.get("prefix", ""),
        call.query.get("delimiter", ""),
        call.query.get("startOffset", ""),
        call.query.get("endOffset", ""),
        call.query.get("includeTrailingDelimiter", "").lower() == "true",
        after,
        min(limit or state.settings.page_size, state.settings.page_size),
    )


def _page(bucket: Bucket, asked: Asked) -> tuple[list[str], list[str], bool]:
    """Names, prefixes, and whether more follow."""
    names: list[str] = []
    prefixes: list[str] = []
    entries = bucket.names()
    first = max(asked.prefix, asked.start, asked.after, key=str.encode).encode()
    for index in range(bisect_left(entries, (first, "")), len(entries)):
        name = entries[index][1]
        if not name.startswith(asked.prefix) or (asked.end and name.encode() >= asked.end.encode()):
            break
        folded = _folded(name, asked)
        new_prefix = bool(folded) and folded != asked.after and folded not in prefixes[-1:]
        as_item = not folded or (asked.trailing and name == folded)
        if as_item and asked.after and name.encode() <= asked.after.encode():
            as_item = False
        if not new_prefix and not as_item:
            continue
        if len(names) + len(prefixes) + new_prefix + as_item > max(asked.limit, new_prefix + as_item):
            return names, prefixes, True
        if new_prefix:
            prefixes.append(folded)
        if as_item:
            names.append(name)
    return names, prefixes, False


def _folded(name: str, asked: Asked) -> str:
    """The prefix that stands for the name, or nothing."""
    if not asked.delimiter:
        return ""
    at = name.find(asked.delimiter, len(asked.prefix))
    return "" if at < 0 else name[: at + len(asked.delimiter)]
