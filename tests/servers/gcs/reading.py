"""Metadata and content of an object."""

from __future__ import annotations

import gzip
import re
from email.utils import format_datetime
from typing import Final

from tests.servers.gcs.calls import Answer, Call, json_answer
from tests.servers.gcs.conditions import Conditions
from tests.servers.gcs.failures import RefusedError
from tests.servers.gcs.objects import StoredObject
from tests.servers.gcs.state import State

RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")


def get_object(state: State, call: Call, base_url: str, bucket: str, name: str) -> Answer:
    if call.query.get("softDeleted") == "true" and not call.media:
        return json_answer(state.find_former(bucket, name, call.number("generation")).resource(base_url))
    stored = state.find(bucket, name, Conditions.of(call), call.number("generation"))
    if call.media:
        return _media(stored, call)
    return json_answer(stored.resource(base_url), headers={"ETag": stored.etag})


def _media(stored: StoredObject, call: Call) -> Answer:
    headers = _headers(stored)
    if _transcoded(stored, call):
        headers["Warning"] = "214 UploadServer gunzipped"
        return Answer(200, headers, gzip.decompress(stored.data))
    encoding = stored.fields.get("contentEncoding")
    if encoding:
        headers["Content-Encoding"] = encoding
    span = _span(call.headers.get("range", ""), len(stored.data))
    if span is None:
        return Answer(200, headers, stored.data)
    start, end = span
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(stored.data)}"
    return Answer(206, headers, stored.data[start:end])


def _headers(stored: StoredObject) -> dict[str, str]:
    return {
        "Content-Type": stored.content_type,
        "Cache-Control": str(stored.fields.get("cacheControl", "no-cache, no-store, max-age=0, must-revalidate")),
        "ETag": stored.etag,
        "Last-Modified": format_datetime(stored.updated.replace(microsecond=0), usegmt=True),
        "Vary": "Origin, X-Origin, Accept-Encoding",
        "X-Goog-Generation": str(stored.generation),
        "X-Goog-Metageneration": str(stored.metageneration),
        "X-Goog-Hash": stored.hashes,
        "X-Goog-Storage-Class": "STANDARD",
        "X-Goog-Stored-Content-Encoding": str(stored.fields.get("contentEncoding") or "identity"),
        "X-Goog-Stored-Content-Length": str(len(stored.data)),
    }


def _transcoded(stored: StoredObject, call: Call) -> bool:
    """Whether a gzip-encoded object is served decompressed: ranges are then ignored."""
    return (
        stored.fields.get("contentEncoding") == "gzip"
        and "gzip" not in call.headers.get("accept-encoding", "")
        and "no-transform" not in str(stored.fields.get("cacheControl", ""))
    )


def _span(header: str, size: int) -> tuple[int, int] | None:
    """The half-open range asked for; ``None``: all of it, as for a header that makes no sense."""
    match = RANGE.fullmatch(header.strip())
    if match is None or match.group(0) == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= size:
        message = "The requested range cannot be satisfied."
        raise RefusedError(416, "requestedRangeNotSatisfiable", message, headers={"Content-Range": f"bytes */{size}"})
    return start, end
