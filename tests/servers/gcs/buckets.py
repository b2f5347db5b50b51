"""Buckets: get, insert, list, delete, and what the caller may do with one."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from tests.servers.gcs.calls import Answer, Call, json_answer
from tests.servers.gcs.failures import RefusedError
from tests.servers.gcs.objects import timestamp
from tests.servers.gcs.state import Bucket, State


def _resource(bucket: Bucket) -> dict[str, Any]:
    return {
        "kind": "storage#bucket",
        "id": bucket.name,
        "name": bucket.name,
        "location": "US",
        "locationType": "multi-region",
        "metageneration": "1",
        "storageClass": "STANDARD",
        "timeCreated": timestamp(bucket.created),
        "updated": timestamp(bucket.created),
    }


def get_bucket(state: State, bucket: str) -> Answer:
    return json_answer(_resource(state.bucket(bucket)))


def insert_bucket(state: State, call: Call) -> Answer:
    return json_answer(_resource(state.make_bucket(str(call.document().get("name", "")))))


def list_buckets(state: State) -> Answer:
    return json_answer({"kind": "storage#buckets", "items": [_resource(each) for each in state.buckets.values()]})


def delete_bucket(state: State, bucket: str) -> Answer:
    if state.bucket(bucket).objects:
        raise RefusedError(409, "conflict", "The bucket you tried to delete is not empty.")
    del state.buckets[bucket]
    return Answer(204)


def storage_layout(state: State, bucket: str) -> Answer:
    name = state.bucket(bucket).name
    return json_answer({"kind": "storage#storageLayout", "bucket": name, "hierarchicalNamespace": {"enabled": False}})


def permissions(state: State, call: Call, bucket: str, *, read_only: bool) -> Answer:
    """Which of the permissions asked about the caller has; ``call.query`` keeps one of a name, hence the raw text."""
    state.bucket(bucket)
    asked = parse_qs(call.raw_query).get("permissions", [])
    harmless = (".get", ".list")
    granted = [each for each in asked if not read_only or each.endswith(harmless)]
    return json_answer({"kind": "storage#testIamPermissionsResponse", "permissions": granted})
