"""AWS Signature Version 4 for S3, as AWS documents it; compared with botocore's by a test.

Paths and queries come in the encoding that is sent, so that what is signed is what is asked for, byte by byte.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Final
from urllib.parse import quote

from moorage_s3.credentials import Credentials

UNSIGNED: Final = "UNSIGNED-PAYLOAD"
EMPTY: Final = hashlib.sha256(b"").hexdigest()

_ALGORITHM: Final = "AWS4-HMAC-SHA256"


def encode_key(key: str) -> str:
    """A key as the path of a URL: every byte but the unreserved ones and ``/`` in percent encoding."""
    return quote(key, safe="/~", errors="surrogateescape")


def encode_query(query: dict[str, str]) -> str:
    """Parameters in the canonical order and encoding, which are also the ones that are sent."""
    encoded = sorted([(quote(name, safe="~"), _encoded(value)) for name, value in query.items()])
    return "&".join([f"{name}={value}" for name, value in encoded])


def _encoded(value: str) -> str:
    return quote(value, safe="~", errors="surrogateescape")


class Signer:
    """Signs for one client; keeps the day's key."""

    def __init__(self) -> None:
        self._scope = ("", "", "")
        self._key = b""
        self._second = -1
        self._stamp = ""

    def sign(
        self,
        credentials: Credentials,
        region: str,
        method: str,
        path: str,
        query: str,
        headers: dict[str, str],
        *,
        now: float,
    ) -> None:
        """Add date, token and signature to ``headers``, all of which are signed.

        ``headers`` has lower-case names and includes ``host`` and ``x-amz-content-sha256``.
        """
        stamp = self._time(int(now))
        headers["x-amz-date"] = stamp
        if credentials.session_token is not None:
            headers["x-amz-security-token"] = credentials.session_token
        names = sorted(headers)
        signed = ";".join(names)
        lines = "".join([f"{name}:{' '.join(headers[name].split())}\n" for name in names])
        request = f"{method}\n{path}\n{query}\n{lines}\n{signed}\n{headers['x-amz-content-sha256']}"
        scope = f"{stamp[:8]}/{region}/s3/aws4_request"
        text = f"{_ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        signature = hmac.digest(self._day_key(credentials, stamp[:8], region), text.encode(), "sha256").hex()
        headers["authorization"] = (
            f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, SignedHeaders={signed}, "
            f"Signature={signature}"
        )

    def _time(self, second: int) -> str:
        if second != self._second:
            self._second, self._stamp = second, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        return self._stamp

    def _day_key(self, credentials: Credentials, day: str, region: str) -> bytes:
        scope = (credentials.secret_access_key, day, region)
        if scope != self._scope:
            key = f"AWS4{credentials.secret_access_key}".encode()
            for part in (day, region, "s3", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._scope, self._key = scope, key
        return self._key
