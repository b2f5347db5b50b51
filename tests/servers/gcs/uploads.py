"""Uploads in one request (``media``, ``multipart``) and in many (``resumable``)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.servers.gcs.calls import Answer, Call, json_answer, parse_document
from tests.servers.gcs.checksums import crc32c, md5
from tests.servers.gcs.conditions import Conditions
from tests.servers.gcs.failures import RefusedError, invalid, no_bucket
from tests.servers.gcs.multiparts import malformed, split_parts
from tests.servers.gcs.names import check_object_name
from tests.servers.gcs.objects import writable_fields
from tests.servers.gcs.state import State, Upload

GRANULE: Final = 256 * 1024
"""What arrives of an unfinished upload is kept in multiples of this."""
CONTENT_RANGE: Final = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
CANCELLED: Final = 499


def upload(state: State, call: Call, base_url: str, bucket: str, allow: Callable[[str], None]) -> Answer:
    """Answer a POST that uploads or starts to; ``allow`` raises for a name that the caller may not write."""
    state.bucket(bucket)
    document, data = _asked(call, bare_line_feeds=state.settings.bare_line_feeds)
    name = _name(call, document)
    allow(name)
    if call.query["uploadType"] == "resumable":
        return _start(state, call, base_url, (bucket, name), document)
    _check_hashes({**_header_hashes(call), **_document_hashes(document)}, data)
    stored = state.write(bucket, name, data, writable_fields(document), conditions=Conditions.of(call))
    return json_answer(stored.resource(base_url), headers={"ETag": stored.etag})


def _asked(call: Call, *, bare_line_feeds: bool) -> tuple[dict[str, Any], bytes]:
    """The object's resource and content; of a resumable upload there is no content yet."""
    match call.query.get("uploadType"):
        case "media":
            encoding = call.query.get("contentEncoding")
            return _typed({"contentEncoding": encoding} if encoding else {}, call.headers), call.body
        case "multipart":
            content_type = call.headers.get("content-type", "")
            parts = split_parts(content_type, call.body, bare_line_feeds=bare_line_feeds)
            if len(parts) != 2:
                raise malformed(f"it has {len(parts)} parts, not 2")
            return _typed(parse_document(parts[0].body), parts[1].headers), parts[1].body
        case "resumable":
            return _typed(call.document(), {"content-type": call.headers.get("x-upload-content-type", "")}), b""
        case kind:
            raise invalid(f"Invalid value for uploadType: {kind!r}")


def _typed(document: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    """The resource, its type taken from the content's header where it names none."""
    named = {"contentType": headers["content-type"]} if headers.get("content-type") else {}
    return {**named, **document}


def _name(call: Call, document: Mapping[str, Any]) -> str:
    name, asked = document.get("name") or call.query.get("name"), call.query.get("name")
    if asked and name != asked:
        raise invalid(f"Value {name!r} in content does not agree with value {asked!r}.")
    if not name:
        raise RefusedError(400, "required", "Required parameter: name")
    return check_object_name(str(name))


def _document_hashes(document: Mapping[str, Any]) -> dict[str, str]:
    names = {"md5": "md5Hash", "crc32c": "crc32c"}
    return {kind: str(document[name]) for kind, name in names.items() if document.get(name)}


def _header_hashes(call: Call) -> dict[str, str]:
    pairs = [each.strip().partition("=") for each in call.headers.get("x-goog-hash", "").split(",")]
    return {kind: value for kind, _, value in pairs if kind in {"md5", "crc32c"}}


def _check_hashes(hashes: Mapping[str, str], data: bytes) -> None:
    for kind, calculate in (("md5", md5), ("crc32c", crc32c)):
        if kind in hashes and hashes[kind] != calculate(data):
            raise invalid(
                f"Provided {kind.upper()} hash {hashes[kind]!r} doesn't match calculated {calculate(data)!r}."
            )


def _start(state: State, call: Call, base_url: str, target: tuple[str, str], document: Mapping[str, Any]) -> Answer:
    length = call.headers.get("x-upload-content-length", "")
    total = int(length) if length.isdigit() else None
    token = secrets.token_urlsafe(24)
    state.uploads[token] = Upload(
        *target, writable_fields(document), _document_hashes(document), Conditions.of(call), total
    )  # fmt: skip
    location = f"{base_url}/upload/storage/v1/b/{target[0]}/o?uploadType=resumable&upload_id={token}"
    return Answer(200, {"Location": location, "X-GUploader-UploadID": token})


def resume(state: State, call: Call, base_url: str, bucket: str) -> Answer:
    """Answer a PUT (or POST) with a chunk or a question, or a DELETE, to the location of a resumable upload."""
    found = state.uploads.get(call.query.get("upload_id", ""))
    if found is None or found.bucket != bucket:
        raise RefusedError(404, "notFound", "Upload session not found.")
    if found.gone:
        return Answer(CANCELLED)
    if found.done is not None:
        if call.method == "DELETE":
            raise invalid("The upload is finished.")
        return json_answer(found.done.resource(base_url))
    if call.method == "DELETE":
        found.gone = True
        found.data.clear()
        return Answer(CANCELLED)
    if bucket not in state.buckets:
        raise no_bucket()
    return _receive(state, call, base_url, found)


def _receive(state: State, call: Call, base_url: str, found: Upload) -> Answer:
    first, last, total = _content_range(call, found)
    if found.total is not None and total is not None and found.total != total:
        raise invalid(f"The upload was announced with {found.total} bytes, not {total}.")
    total = total if total is not None else found.total
    if first is not None:
        _check_chunk(call, found, first, last)
        found.data += call.body[len(found.data) - first :]
    if total is not None and len(found.data) > total:
        raise invalid(f"More bytes than the {total} announced.")
    if total is None or len(found.data) < total or not call.complete:
        del found.data[len(found.data) // GRANULE * GRANULE :]
        return Answer(308, {"Range": f"bytes=0-{len(found.data) - 1}"} if found.data else {})
    return _finish(state, call, base_url, found)


def _content_range(call: Call, found: Upload) -> tuple[int | None, int, int | None]:
    """First and last byte, or ``None`` for a mere question, and the total, ``None`` where unknown yet."""
    header = call.headers.get("content-range")
    if header is None:
        return 0, len(call.body) - 1, len(call.body) if call.complete else found.total
    match = CONTENT_RANGE.fullmatch(header.strip())
    if match is None:
        raise invalid(f"Failed to parse Content-Range header: {header!r}")
    first, last, total = match.groups()
    return int(first) if first else None, int(last or -1), None if total == "*" else int(total)


def _check_chunk(call: Call, found: Upload, first: int, last: int) -> None:
    if first > len(found.data):
        message = f"The upload offset is {first}, which exceeds the already uploaded size of {len(found.data)}."
        raise RefusedError(503, "backendError", f"Invalid request. According to the Content-Range header, {message}")
    if call.complete and last - first + 1 != len(call.body):
        raise invalid(f"There were {len(call.body)} bytes in the body, not {last - first + 1} as in Content-Range.")


def _finish(state: State, call: Call, base_url: str, found: Upload) -> Answer:
    data = bytes(found.data)
    try:
        _check_hashes({**found.hashes, **_header_hashes(call)}, data)
        found.done = state.write(found.bucket, found.name, data, found.fields, conditions=found.conditions)
    except RefusedError as error:
        if error.status < 429:
            found.gone = True
        else:
            del found.data[len(found.data) // GRANULE * GRANULE :]
        raise
    finally:
        if found.gone or found.done is not None:
            found.data.clear()
    return json_answer(found.done.resource(base_url), headers={"ETag": found.done.etag})
