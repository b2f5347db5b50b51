"""A stored object, and its resource as the API shows it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from tests.servers.gcs.failures import invalid

DEFAULT_TYPE: Final = "application/octet-stream"
WRITABLE: Final = (
    "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "customTime", "metadata",
    "storageClass",
)  # fmt: skip
"""Fields of the resource that a request may set."""
LARGEST_METADATA: Final = 8 * 1024
"""Bytes of names and values of the metadata of an object's own."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object. ``md5`` and ``components`` tell a composed one: it has no MD5.

    ``kept`` is the size of a soft-deleted one, whose content is not kept here.
    """

    bucket: str
    name: str
    data: bytes
    generation: int
    metageneration: int
    created: datetime
    updated: datetime
    fields: Mapping[str, Any]
    crc32c: str
    md5: str | None
    components: int | None = None
    kept: int | None = None

    @property
    def etag(self) -> str:
        return base64.b64encode(f"{self.generation}/{self.metageneration}".encode()).decode()

    @property
    def content_type(self) -> str:
        return str(self.fields.get("contentType") or DEFAULT_TYPE)

    @property
    def hashes(self) -> str:
        """The value of the X-Goog-Hash header."""
        return f"crc32c={self.crc32c}" + (f",md5={self.md5}" if self.md5 else "")

    def resource(self, base_url: str) -> dict[str, Any]:
        path = f"b/{self.bucket}/o/{quote(self.name, safe='')}"
        shown: dict[str, Any] = {
            "kind": "storage#object",
            "id": f"{self.bucket}/{self.name}/{self.generation}",
            "selfLink": f"{base_url}/storage/v1/{path}",
            "mediaLink": f"{base_url}/download/storage/v1/{path}?generation={self.generation}&alt=media",
            "name": self.name,
            "bucket": self.bucket,
            "generation": str(self.generation),
            "metageneration": str(self.metageneration),
            "storageClass": "STANDARD",
            "size": str(len(self.data) if self.kept is None else self.kept),
            "crc32c": self.crc32c,
            "etag": self.etag,
            "timeCreated": timestamp(self.created),
            "updated": timestamp(self.updated),
            "timeStorageClassUpdated": timestamp(self.created),
            **{name: value for name, value in self.fields.items() if value is not None},
        }
        shown.setdefault("contentType", DEFAULT_TYPE)
        if self.md5:
            shown["md5Hash"] = self.md5
        if self.components is not None:
            shown["componentCount"] = self.components
        return shown


def writable_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a request's resource sets; the rest of it is ignored, as the real one does."""
    fields = {name: document[name] for name in WRITABLE if document.get(name) is not None}
    for name, value in fields.items():
        if not isinstance(value, dict if name == "metadata" else str):
            raise invalid(f"Invalid value for: {name}")
    return check_size(fields)


def check_size(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, unless the object's own metadata are larger than any object's may be."""
    texts = [str(text) for pair in fields.get("metadata", {}).items() for text in pair]
    if sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) > LARGEST_METADATA:
        raise invalid("The custom metadata of an object may have 8 KiB.")
    return fields


def timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
