"""Requests with something taken away, signed anew where they were signed, so that only what is meant goes missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tests.servers.messages import Head
from tests.servers.signing import Identity, authorization

CONDITIONS: Final = frozenset(
    {
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "x-amz-copy-source-if-match",
        "x-amz-copy-source-if-none-match",
    }
)
CONDITION_IN_QUERY: Final = re.compile(r"if(Source)?(Meta)?[gG]eneration(Not)?Match=")
CREDENTIAL: Final = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/s3/aws4_request.*SignedHeaders=([^,]+)")


def without_conditions(head: Head, identities: Iterable[Identity]) -> Head:
    path, mark, query = head.target.partition("?")
    kept = [pair for pair in query.split("&") if not CONDITION_IN_QUERY.match(pair)]
    stripped = head.with_target(f"{path}{mark if kept else ''}{'&'.join(kept)}").without(CONDITIONS)
    return _signed_anew(stripped, identities)


def without_range(head: Head, identities: Iterable[Identity]) -> Head:
    return _signed_anew(head.without(["range"]), identities)


def _signed_anew(head: Head, identities: Iterable[Identity]) -> Head:
    """The request with a signature over the headers that are left. Chunks signed one by one would not fit any more."""
    headers = head.headers
    match = CREDENTIAL.search(headers.get("authorization", ""))
    if match is None:
        return head
    key_id, region, names = match.groups()
    identity = next((each for each in identities if each.access_key_id == key_id), None)
    if identity is None:
        return head
    left = [name for name in names.split(";") if name in headers]
    value = authorization(identity, head.method, head.target, headers, left, region=region)
    return head.with_header("Authorization", value)
