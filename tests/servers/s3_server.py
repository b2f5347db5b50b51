"""What tests know of a running S3 server, and raw requests to it that pass by the code under test."""

from __future__ import annotations

import http.client
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

from tests.servers.ports import LOOPBACK
from tests.servers.signing import REGION, Identity, encoded, signed

BUCKET: Final = "bucket1"
ADMIN: Final = Identity("testkey", "testsecret")


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A whole answer; names of headers are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class UnexpectedAnswerError(AssertionError):
    """The server refused a request of the test's own."""


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server.

    Attributes:
        reader: may read everything; ``None`` where signatures are not checked.
        team: may do everything below ``team/`` of ``bucket1``, and nothing else; ``None`` as above.
        master_port: of seaweedfs: a new bucket is given its volume there, else its first write waits 0.2 s for one.
    """

    port: int
    bucket: str = BUCKET
    admin: Identity = ADMIN
    reader: Identity | None = None
    team: Identity | None = None
    region: str = REGION
    master_port: int | None = None

    @property
    def endpoint_url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def access_key_id(self) -> str:
        return self.admin.access_key_id

    @property
    def secret_access_key(self) -> str:
        return self.admin.secret_access_key

    @property
    def identities(self) -> tuple[Identity, ...]:
        """All that the server knows."""
        return tuple(each for each in (self.admin, self.reader, self.team) if each is not None)

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        identity: Identity | None = None,
    ) -> RawResponse:
        """Send one signed request. ``target`` is the encoded path with its query, e.g. ``/bucket1/a%20b?uploads``."""
        asked = signed(identity or self.admin, method, target, {"host": self._host, **(headers or {})}, body)
        return _sent(self.port, method, target, asked, body)

    def make_bucket(self, name: str | None = None) -> str:
        """Make a bucket of this or of a random name, and return its name."""
        name = name or f"bucket-{secrets.token_hex(6)}"
        self._expect("PUT", f"/{name}")
        if self.master_port is not None:
            grow = f"/vol/grow?collection={name}&count=1"
            _checked(_sent(self.master_port, "POST", grow, {}, b""), "POST", grow)
        return name

    def put(self, key: str, body: bytes, *, bucket: str | None = None, headers: Mapping[str, str] | None = None) -> str:
        """Store an object, unconditionally unless the headers say otherwise, and return its ETag."""
        return self._expect("PUT", self._target(bucket, key), headers=headers, body=body).headers["etag"]

    def get(self, key: str, *, bucket: str | None = None) -> bytes | None:
        """The object's bytes; ``None`` where there is none."""
        answer = self.request("GET", self._target(bucket, key))
        return None if answer.status == http.client.NOT_FOUND else _checked(answer, "GET", key).body

    def head(self, key: str, *, bucket: str | None = None) -> Mapping[str, str] | None:
        """The object's headers; ``None`` where there is none."""
        answer = self.request("HEAD", self._target(bucket, key))
        return None if answer.status == http.client.NOT_FOUND else _checked(answer, "HEAD", key).headers

    def delete(self, key: str, *, bucket: str | None = None) -> None:
        """Delete the object, if there is one."""
        self._expect("DELETE", self._target(bucket, key))

    def keys(self, prefix: str = "", *, bucket: str | None = None) -> list[str]:
        """Every key with the prefix, markers of directories included, in the server's order."""
        found: list[str] = []
        token = ""
        while True:
            more = f"&continuation-token={encoded(token)}" if token else ""
            target = f"/{bucket or self.bucket}?list-type=2&prefix={encoded(prefix)}{more}"
            page = _xml(self._expect("GET", target).body)
            found += [item.findtext("Key", "") for item in page.findall("Contents")]
            token = page.findtext("NextContinuationToken", "")
            if not token:
                return found

    def pending_uploads(self, *, bucket: str | None = None) -> list[str]:
        """The keys of multipart uploads that were neither completed nor aborted."""
        page = _xml(self._expect("GET", f"/{bucket or self.bucket}?uploads").body)
        return [item.findtext("Key", "") for item in page.findall("Upload")]

    @property
    def _host(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def _target(self, bucket: str | None, key: str) -> str:
        return f"/{bucket or self.bucket}/{encoded(key, safe='/')}"

    def _expect(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> RawResponse:
        return _checked(self.request(method, target, headers=headers, body=body), method, target)


def _sent(port: int, method: str, target: str, headers: Mapping[str, str], body: bytes) -> RawResponse:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    try:
        connection.request(method, target, body=body, headers=dict(headers))
        answer = connection.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return RawResponse(answer.status, fields, answer.read())
    finally:
        connection.close()


def _checked(answer: RawResponse, method: str, what: str) -> RawResponse:
    if answer.status >= http.client.MULTIPLE_CHOICES:
        raise UnexpectedAnswerError(f"{method} {what}: {answer.status} {answer.body[:500]!r}")
    return answer


def _xml(body: bytes) -> ET.Element:
    """The document, without its namespace: some servers leave it out."""
    return ET.fromstring(re.sub(rb'\sxmlns="[^"]*"', b"", body, count=1))
