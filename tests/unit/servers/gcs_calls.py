"""Raw requests to the GCS server, as short as tests want them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tests.servers.gcs import LocalGCSServer

BASE = "/storage/v1/b/bucket1"
UPLOADS = "/upload/storage/v1/b/bucket1/o"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def __iter__(self) -> Iterator[Any]:
        return iter((self.status, self.headers, self.body))

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def reason(self) -> str:
        return str(self.document["error"]["errors"][0]["reason"])


def ask(
    server: LocalGCSServer,
    method: str,
    path: str,
    body: bytes | Mapping[str, Any] = b"",
    headers: Mapping[str, str] | None = None,
    **query: Any,
) -> Reply:
    target = f"{path}?{urlencode(query)}" if query else path
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(*server.request(method, target, headers=headers, body=data))


def object_path(name: str, bucket: str = "bucket1") -> str:
    return f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}"


def send(server: LocalGCSServer, name: str, body: bytes, **query: Any) -> Reply:
    """A media upload."""
    return ask(server, "POST", f"{UPLOADS}?{urlencode({'uploadType': 'media', 'name': name, **query})}", body)
