"""Names for requests: which S3 or GCS operation one is, told from method, target and headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

OTHER: Final = "other"
GCS_PATHS: Final = ("/storage/v1/", "/upload/storage/v1/", "/resumable/upload/", "/download/storage/v1/", "/batch")

# By method, kind of target and the query's name that decides; the first that fits.
S3: Final[Mapping[tuple[str, str], tuple[tuple[str, str], ...]]] = {
    ("GET", "key"): (("uploadId", "list_parts"), ("tagging", "get_object_tagging"), ("", "get_object")),
    ("HEAD", "key"): (("", "head_object"),),
    ("PUT", "key"): (("partNumber", "upload_part"), ("tagging", "put_object_tagging"), ("", "put_object")),
    ("POST", "key"): (("uploads", "create_multipart_upload"), ("uploadId", "complete_multipart_upload")),
    ("DELETE", "key"): (("uploadId", "abort_multipart_upload"), ("", "delete_object")),
    ("GET", "bucket"): (
        ("uploads", "list_multipart_uploads"),
        ("location", "get_bucket_location"),
        ("list-type", "list_objects"),
        ("", "list_objects"),
    ),
    ("HEAD", "bucket"): (("", "head_bucket"),),
    ("PUT", "bucket"): (("", "create_bucket"),),
    ("POST", "bucket"): (("delete", "delete_objects"),),
    ("DELETE", "bucket"): (("", "delete_bucket"),),
    ("GET", "service"): (("", "list_buckets"),),
}
"""Kinds of S3 requests; a PUT with x-amz-copy-source is ``copy_object`` or ``upload_part_copy``."""

GCS: Final = (
    ("POST", r"/batch.*", "batch"),
    ("POST", r".*/compose", "compose"),
    ("POST", r".*/moveTo/o/[^/]+", "move"),
    ("POST", r".*/rewriteTo/b/.*", "rewrite"),
    ("POST", r".*/copyTo/b/.*", "copy"),
    ("GET", r"/download/storage/v1/b/[^/]+/o/[^/]+", "get_media"),
    ("GET", r"/storage/v1/b/[^/]+/o/[^/]+", "get_metadata"),
    ("PATCH|PUT", r"/storage/v1/b/[^/]+/o/[^/]+", "patch"),
    ("DELETE", r"/storage/v1/b/[^/]+/o/[^/]+", "delete"),
    ("GET", r"/storage/v1/b/[^/]+/o", "list"),
    ("GET", r"/storage/v1/b/[^/]+", "get_bucket"),
    ("POST", r"/storage/v1/b", "insert_bucket"),
)
"""Kinds of GCS requests, but for uploads: ``media_upload``, ``multipart_upload``, ``resumable_start``,
``resumable_chunk``, ``resumable_query``, ``resumable_cancel``."""


def kind_of(method: str, target: str, headers: Mapping[str, str]) -> str:
    """The operation's name. ``headers`` have lower-case names."""
    split = urlsplit(target)
    query = dict(parse_qsl(split.query, keep_blank_values=True))
    if target.startswith(GCS_PATHS):
        return _gcs(method, split.path, query, headers)
    return _s3(method, split.path, query, headers)


def _s3(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    bucket, _, key = path.lstrip("/").partition("/")
    what = "key" if key else "bucket" if bucket else "service"
    for name, kind in S3.get((method, what), ()):
        if not name or name in query:
            if "x-amz-copy-source" in headers:
                return {"put_object": "copy_object", "upload_part": "upload_part_copy"}.get(kind, kind)
            return kind
    return OTHER


def _gcs(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    if "upload/storage/v1/" in path:
        return _gcs_upload(method, query, headers)
    for methods, pattern, kind in GCS:
        if re.fullmatch(methods, method) and re.fullmatch(pattern, path):
            return "get_media" if kind == "get_metadata" and query.get("alt") == "media" else kind
    return OTHER


def _gcs_upload(method: str, query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    if "upload_id" not in query:
        started = query.get("uploadType") == "resumable"
        return "resumable_start" if started else f"{query.get('uploadType')}_upload"
    if method == "DELETE":
        return "resumable_cancel"
    return "resumable_query" if headers.get("content-range", "").startswith("bytes */") else "resumable_chunk"
