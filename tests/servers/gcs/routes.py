"""Which request is which operation, and whether the caller may do it."""

from __future__ import annotations

import re
from typing import Final

from tests.servers.gcs import buckets, changes
from tests.servers.gcs.batches import batch
from tests.servers.gcs.calls import Answer, Call, decoded
from tests.servers.gcs.failures import RefusedError
from tests.servers.gcs.listing import list_objects
from tests.servers.gcs.reading import get_object
from tests.servers.gcs.state import Access, State
from tests.servers.gcs.tokens import issue_token
from tests.servers.gcs.uploads import resume, upload

FULL: Final = Access()
READS: Final = frozenset({"GET", "HEAD"})
UPLOAD: Final = re.compile(r"/(?:resumable/)?upload/storage/v1/b/([^/]+)/o")
BUCKETS: Final = re.compile(r"/storage/v1/b")
BUCKET: Final = re.compile(r"/storage/v1/b/([^/]+)")
LAYOUT: Final = re.compile(r"/storage/v1/b/([^/]+)/storageLayout")
PERMISSIONS: Final = re.compile(r"/storage/v1/b/([^/]+)/iam/testPermissions")
OBJECTS: Final = re.compile(r"/storage/v1/b/([^/]+)/o")
OBJECT: Final = re.compile(r"/(?:download/)?storage/v1/b/([^/]+)/o/([^/]+)")
COMPOSE: Final = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/compose")
MOVE: Final = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/moveTo/o/([^/]+)")
COPY: Final = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/(copyTo|rewriteTo)/b/([^/]+)/o/([^/]+)")


def handle(state: State, call: Call, base_url: str) -> Answer:
    """Do what the request asks, and answer it; a refusal is an answer, too."""
    if state.settings.fault is not None:
        instead = state.settings.fault(call)
        if instead is not None:
            return instead
    try:
        if call.path in {"/batch", "/batch/storage/v1"} and call.method == "POST":
            return batch(call, lambda inner: handle(state, inner, base_url))
        if call.path == "/token" and call.method == "POST":
            return issue_token(state, call)
        if not call.complete and "upload_id" not in call.query:
            raise RefusedError(400, "badRequest", "The body ended early.")
        return _routed(state, call, base_url)
    except RefusedError as error:
        content_type, body = error.body(media=call.media)
        return Answer(error.status, {"Content-Type": content_type, **error.headers}, body)


def _routed(state: State, call: Call, base_url: str) -> Answer:
    access = _access(state, call)
    if match := UPLOAD.fullmatch(call.path):
        return _upload(state, call, base_url, access, decoded(match.group(1)))
    if match := OBJECT.fullmatch(call.path):
        return _object(state, call, base_url, access, *map(decoded, match.groups()))
    if match := OBJECTS.fullmatch(call.path):
        if call.method == "GET":
            _allow(access, call.query.get("prefix", ""))
            return list_objects(state, call, base_url, decoded(match.group(1)))
    elif call.method == "POST" and call.path.count("/") > BUCKET.pattern.count("/"):
        return _changed(state, call, base_url, access)
    return _bucket(state, call, access)


def _access(state: State, call: Call) -> Access:
    tokens = state.settings.tokens
    if tokens is None:
        return FULL
    kind, _, token = call.headers.get("authorization", "").partition(" ")
    if not token:
        message = "Anonymous caller does not have access to the Google Cloud Storage object."
        raise RefusedError(401, "required", message)
    if kind.lower() != "bearer" or token.strip() not in tokens:
        raise RefusedError(401, "authError", "Invalid Credentials")
    return tokens[token.strip()]


def _allow(access: Access, *names: str, write: bool = False) -> None:
    if (write and access.read_only) or not all(name.startswith(access.prefix) for name in names):
        message = "The caller does not have access to the Google Cloud Storage object."
        raise RefusedError(403, "forbidden", f"{message} Permission denied on resource (or it may not exist).")


def _upload(state: State, call: Call, base_url: str, access: Access, bucket: str) -> Answer:
    if "upload_id" in call.query and call.method in {"PUT", "POST", "DELETE"}:
        return resume(state, call, base_url, bucket)
    if call.method != "POST":
        raise _unknown()
    _allow(access, write=True)
    return upload(state, call, base_url, bucket, lambda name: _allow(access, name))


def _object(state: State, call: Call, base_url: str, access: Access, bucket: str, name: str) -> Answer:
    _allow(access, name, write=call.method not in READS)
    match call.method:
        case "GET":
            return get_object(state, call, base_url, bucket, name)
        case "DELETE":
            return changes.delete_object(state, call, bucket, name)
        case "PATCH" | "PUT":
            return changes.patch_object(state, call, base_url, bucket, name)
        case _:
            raise _unknown()


def _changed(state: State, call: Call, base_url: str, access: Access) -> Answer:
    """Answer a POST to an object."""
    if match := COMPOSE.fullmatch(call.path):
        bucket, name = map(decoded, match.groups())
        _allow(access, name, write=True)
        return changes.compose_objects(state, call, base_url, bucket, name)
    if match := MOVE.fullmatch(call.path):
        bucket, src, dst = map(decoded, match.groups())
        _allow(access, src, dst, write=True)
        return changes.move_object(state, call, base_url, bucket, src, dst)
    if match := COPY.fullmatch(call.path):
        bucket, src, kind, target, dst = map(decoded, match.groups())
        _allow(access, src, dst, write=True)
        act = changes.copy_object if kind == "copyTo" else changes.rewrite_object
        return act(state, call, base_url, (bucket, src), (target, dst))
    raise _unknown()


def _bucket(state: State, call: Call, access: Access) -> Answer:
    if match := PERMISSIONS.fullmatch(call.path):
        return buckets.permissions(state, call, decoded(match.group(1)), read_only=access.read_only)
    _allow(access, "", write=call.method not in READS)
    if BUCKETS.fullmatch(call.path):
        if call.method == "POST":
            return buckets.insert_bucket(state, call)
        if call.method == "GET":
            return buckets.list_buckets(state)
    if (match := LAYOUT.fullmatch(call.path)) and call.method == "GET":
        return buckets.storage_layout(state, decoded(match.group(1)))
    if match := BUCKET.fullmatch(call.path):
        if call.method == "GET":
            return buckets.get_bucket(state, decoded(match.group(1)))
        if call.method == "DELETE":
            return buckets.delete_bucket(state, decoded(match.group(1)))
    raise _unknown()


def _unknown() -> RefusedError:
    return RefusedError(404, "notFound", "Not Found")
