"""Signature version 4 of S3 requests, as published, for raw requests of tests and for a proxy that edits headers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

REGION: Final = "us-east-1"
ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Identity:
    """One access key. Secrets here are made up."""

    access_key_id: str
    secret_access_key: str


def signed(
    identity: Identity, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
) -> dict[str, str]:
    """The headers, in lower case, with date, payload hash and signature. ``headers`` has ``host``."""
    now = datetime.now(UTC)
    complete = {name.lower(): value for name, value in headers.items()}
    complete.setdefault("x-amz-content-sha256", hashlib.sha256(body).hexdigest())
    complete["x-amz-date"] = now.strftime("%Y%m%dT%H%M%SZ")
    complete["authorization"] = authorization(identity, method, target, complete, sorted(complete))
    return complete


def authorization(
    identity: Identity,
    method: str,
    target: str,
    headers: Mapping[str, str],
    names: Iterable[str],
    *,
    region: str = REGION,
) -> str:
    """The Authorization header over the headers of these names, all lower case; date and payload hash are there."""
    names = list(names)
    date = headers["x-amz-date"]
    scope = f"{date[:8]}/{region}/s3/aws4_request"
    request = _canonical(method, target, headers, names)
    text = "\n".join((ALGORITHM, date, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{identity.secret_access_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{identity.access_key_id}/{scope}"
    return f"{ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"


def _canonical(method: str, target: str, headers: Mapping[str, str], names: list[str]) -> str:
    path, _, query = target.partition("?")
    pairs = sorted(pair if "=" in pair else f"{pair}=" for pair in query.split("&") if pair)
    listed = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
    return "\n".join((method, path, "&".join(pairs), listed, ";".join(names), headers["x-amz-content-sha256"]))


def encoded(text: str, *, safe: str = "") -> str:
    """Percent-encoding as signature version 4 wants it: unreserved characters stay."""
    return quote(text, safe=f"-._~{safe}")
