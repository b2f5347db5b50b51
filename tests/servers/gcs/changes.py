"""Requests that change what is stored without bringing content: delete, patch, copy, rewrite, compose, move."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from tests.servers.gcs.calls import Answer, Call, json_answer
from tests.servers.gcs.conditions import Conditions
from tests.servers.gcs.failures import invalid
from tests.servers.gcs.names import check_object_name
from tests.servers.gcs.objects import WRITABLE, StoredObject, check_size, writable_fields
from tests.servers.gcs.state import Rewrite, State

MOST_COMPONENTS: Final = 32
MIB: Final = 1024 * 1024


def delete_object(state: State, call: Call, bucket: str, name: str) -> Answer:
    state.delete(state.find(bucket, name, Conditions.of(call), call.number("generation")))
    return Answer(204)


def patch_object(state: State, call: Call, base_url: str, bucket: str, name: str) -> Answer:
    """Answer a PATCH, which keeps the fields it does not name, or a PUT, which clears them."""
    stored = state.find(bucket, name, Conditions.of(call), call.number("generation"))
    asked = call.document()
    fields = _merged(stored.fields, asked) if call.method == "PATCH" else writable_fields(asked)
    return json_answer(state.change_fields(stored, fields).resource(base_url))


def _merged(fields: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    writable_fields(asked)
    merged = dict(fields)
    for name in WRITABLE:
        value = asked.get(name)
        if name == "metadata" and value is not None:
            value = {**merged.get(name, {}), **value}
            value = {key: text for key, text in value.items() if text is not None}
        if name in asked:
            merged[name] = value
    return check_size({name: value for name, value in merged.items() if value is not None})


def _source(state: State, call: Call, bucket: str, name: str) -> StoredObject:
    return state.find(bucket, name, Conditions.of_source(call), call.number("sourceGeneration"))


def _fields(call: Call, source: StoredObject) -> Mapping[str, Any]:
    """The source's metadata, or in their place those of the request where it brings any."""
    return writable_fields(call.document()) if call.body else source.fields


def copy_object(state: State, call: Call, base_url: str, src: tuple[str, str], dst: tuple[str, str]) -> Answer:
    source = _source(state, call, *src)
    fields, conditions = _fields(call, source), Conditions.of(call)
    stored = state.write(*dst, source.data, fields, conditions=conditions, components=source.components)
    return json_answer(stored.resource(base_url))


def rewrite_object(state: State, call: Call, base_url: str, src: tuple[str, str], dst: tuple[str, str]) -> Answer:
    """Copy as much as one call does; the object appears with the last one."""
    source = _source(state, call, *src)
    state.bucket(dst[0])
    check_object_name(dst[1])
    token = call.query.get("rewriteToken")
    rewrite = state.rewrites.get(token) if token else Rewrite(source, *dst)
    if rewrite is None or (rewrite.source, rewrite.bucket, rewrite.name) != (source, *dst):
        raise invalid("Invalid rewrite token.")
    Conditions.of(call).check(state.bucket(dst[0]).objects.get(dst[1]))
    size = len(source.data)
    rewrite.copied = min(rewrite.copied + _step(state, call), size)
    shown = {"kind": "storage#rewriteResponse", "totalBytesRewritten": str(rewrite.copied), "objectSize": str(size)}
    if rewrite.copied < size:
        token = token or secrets.token_urlsafe(24)
        state.rewrites[token] = rewrite
        return json_answer({**shown, "done": False, "rewriteToken": token})
    fields, conditions = _fields(call, source), Conditions.of(call)
    stored = state.write(*dst, source.data, fields, conditions=conditions, components=source.components)
    if token:
        del state.rewrites[token]
    return json_answer({**shown, "done": True, "resource": stored.resource(base_url)})


def _step(state: State, call: Call) -> int:
    most = call.number("maxBytesRewrittenPerCall")
    if most is not None and (most < MIB or most % MIB):
        raise invalid("maxBytesRewrittenPerCall must be a multiple of 1 MiB.")
    return min(most or state.settings.rewritten_per_call, state.settings.rewritten_per_call)


def compose_objects(state: State, call: Call, base_url: str, bucket: str, name: str) -> Answer:
    document = call.document()
    components = document.get("sourceObjects") or []
    if not isinstance(components, list) or not all(isinstance(each, dict) for each in components):
        raise invalid("Parse Error")
    if not 1 <= len(components) <= MOST_COMPONENTS:
        raise invalid(f"The number of source components must be between 1 and {MOST_COMPONENTS}.")
    sources = [_component(state, bucket, each) for each in components]
    if len({each.fields.get("storageClass", "STANDARD") for each in sources}) > 1:
        raise invalid("The source objects must have the same storage class.")
    stored = state.write(
        bucket,
        name,
        b"".join(each.data for each in sources),
        writable_fields(document.get("destination") or {}),
        conditions=Conditions.of(call),
        components=sum(each.components or 1 for each in sources),
    )
    return json_answer(stored.resource(base_url))


def _component(state: State, bucket: str, component: Mapping[str, Any]) -> StoredObject:
    generation = component.get("generation")
    try:
        number = None if generation is None else int(generation)
    except (TypeError, ValueError):
        raise invalid(f"Invalid generation: {generation!r}") from None
    return state.find(bucket, str(component.get("name", "")), Conditions.of_component(component), number)


def move_object(state: State, call: Call, base_url: str, bucket: str, src: str, dst: str) -> Answer:
    source = _source(state, call, bucket, src)
    if src == dst:
        raise invalid("The source and destination object names must differ.")
    return json_answer(state.move(source, dst, Conditions.of(call)).resource(base_url))
