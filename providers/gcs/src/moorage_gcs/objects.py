"""What the JSON API and the headers of a download say of an object, and how requests name one."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast
from urllib.parse import quote

from multidict import CIMultiDictProxy

from moorage import InvalidPathError, StorageError
from moorage.objects import ABSENT, Condition, Matches, ObjectInfo, PreconditionFailed
from moorage_gcs.clocks import moment
from moorage_gcs.sending import Answer

FIELDS: Final = "name,size,generation,timeCreated,contentType,md5Hash,crc32c"
"""What is asked for of each object."""
WITH_MARK: Final = f"{FIELDS},metadata"
_REMEMBERED: Final = 8192
_LARGEST_GENERATION: Final = 2**63 - 1
_RESERVED: Final = ".well-known/acme-challenge/"

Resource = Mapping[str, Any]
"""An object as the JSON API shows it."""


@dataclass(slots=True)
class KnownTimes:
    """When the generations that this client met lately were made: a download does not tell to the millisecond.

    A generation's time never changes, so that what is remembered is never wrong.
    """

    _times: dict[str, tuple[str, datetime | None]] = field(default_factory=dict[str, "tuple[str, datetime | None]"])

    def remember(self, info: ObjectInfo) -> ObjectInfo:
        self._times.pop(info.key, None)
        self._times[info.key] = (info.version, info.modified_at)
        if len(self._times) > _REMEMBERED:
            del self._times[next(iter(self._times))]
        return info

    def version(self, key: str) -> str | None:
        """The generation that was met last."""
        known = self._times.get(key)
        return None if known is None else known[0]

    def of(self, key: str, version: str) -> datetime | None:
        known = self._times.get(key)
        return known[1] if known is not None and known[0] == version else None


class Bucket:
    """The paths of requests to one bucket."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = f"/storage/v1/b/{quote(name, safe='')}"
        self.objects = f"{self.path}/o"
        self.upload = f"/upload{self.objects}"

    def object(self, key: str) -> str:
        """The path of an object's metadata or content."""
        return f"{self.objects}/{segment(key)}"

    def pair(self, verb: str, src: str, dst: str) -> str:
        """The path of a request from one object to another."""
        target = "o" if verb == "moveTo" else f"b/{quote(self.name, safe='')}/o"
        return f"{self.object(src)}/{verb}/{target}/{segment(dst)}"


def segment(key: str) -> str:
    """The key as one segment of a path that nobody on the way takes for ``.`` or ``..``."""
    return quote(key, safe="") if key not in (".", "..") else key.replace(".", "%2E")


def check_new_name(key: str) -> None:
    """Refuse what GCS keeps for itself."""
    if key.startswith(_RESERVED):
        raise InvalidPathError(f"GCS reserves names below {_RESERVED}")


def condition_query(key: str, condition: Condition | None, name: str = "ifGenerationMatch") -> dict[str, str]:
    """The condition as the store judges it.

    Raises:
        PreconditionFailed: no generation looks like the version.
    """
    if condition is None:
        return {}
    if isinstance(condition, Matches):
        return {name: generation(key, condition.version)}
    return {name: "0"} if condition is ABSENT else {name.replace("Match", "NotMatch"): "0"}


def generation(key: str, version: str) -> str:
    """The version as a generation; a text that can be none, ``"0"`` among them, matches nothing."""
    is_number = version.isascii() and version.isdecimal() and not version.startswith("0")
    if not is_number or len(version) > 19 or int(version) > _LARGEST_GENERATION:
        raise PreconditionFailed(key)
    return version


def document(answer: Answer) -> Resource:
    """The JSON of a successful answer."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StorageError("the store's answer is not JSON")
    return cast("Resource", found)


def info_of(resource: Resource) -> ObjectInfo:
    """The object that this is.

    ``modified_at`` is the time of the content: that of the last change of metadata (``updated``) would make a touch
    look like a write.

    Raises:
        StorageError: the answer lacks what every object has.
    """
    try:
        created = moment(resource.get("timeCreated", ""))
        return ObjectInfo(
            _text(resource["name"]),
            _count(resource.get("size", 0)),
            str(_count(resource["generation"])),
            modified_at=created,
            created_at=created,
            checksum=_checksum(resource.get("md5Hash"), resource.get("crc32c")),
            media_type=_text(resource.get("contentType", "")) or None,
        )
    except (AttributeError, LookupError, OverflowError, ValueError, TypeError):
        raise StorageError("the store's answer does not describe an object") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is wanted")
    return value


def _count(value: object) -> int:
    """The JSON API writes numbers of 64 bits as texts."""
    if not isinstance(value, int | str) or not 0 <= int(value) <= _LARGEST_GENERATION:
        raise ValueError("a number is wanted")
    return int(value)


def downloaded_info(key: str, headers: CIMultiDictProxy[str], size: int, known: KnownTimes) -> ObjectInfo:
    """The object that a download's headers describe."""
    version = headers.get("X-Goog-Generation", "")
    if not version:
        raise StorageError("the store's answer does not tell the generation")
    sums = hashes(headers)
    created = known.of(key, version)
    return ObjectInfo(
        key,
        size,
        version,
        modified_at=created,
        created_at=created,
        checksum=_checksum(sums.get("md5"), sums.get("crc32c")),
        media_type=headers.get("Content-Type"),
    )


def hashes(headers: CIMultiDictProxy[str]) -> dict[str, str]:
    """The checksums in ``X-Goog-Hash``, which may come once or once for each."""
    pairs = [pair.strip().partition("=") for line in headers.getall("X-Goog-Hash", []) for pair in line.split(",")]
    return {name: value for name, _, value in pairs if value}


def _checksum(md5: str | None, crc: str | None) -> str | None:
    name, text = ("md5", md5) if md5 else ("crc32c", crc)
    if not text:
        return None
    try:
        return f"{name}:{base64.b64decode(text, validate=True).hex()}"
    except (binascii.Error, ValueError, TypeError):
        return None
