"""S3's XML: read without entities, within limits; written so that every key that XML can hold survives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from moorage import StorageError

NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
_TEXT_ESCAPES: Final = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DEFAULT_NAMESPACE: Final = re.compile(
    rb"""(?:\xef\xbb\xbf)?\s*+(?:<\?xml\s[^>]*+>\s*+)?<[^\s<>/"'=]++"""
    rb"""(?:\s++(?!xmlns\s*+=)[^\s<>/"'=]++\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'))*+"""
    rb"""(\s++xmlns\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'))"""
)
"""That of the root, cut out before parsing, which otherwise writes it into each name, to be cut off again."""
_NO_MARKS: Final = ET.Element("none")


def parse(data: bytes, name: str = "") -> ET.Element:
    """The root of a document, its names without namespaces; ``name`` is what it must be, where that matters.

    Declarations of any kind are refused before anything is parsed: no answer of S3 has one, and entities are how a
    document attacks its reader.

    Raises:
        StorageError: it is no such document.
    """
    if b"<!" in data or b"\0" in data:
        raise StorageError("the store's answer is not plain XML")
    try:
        root = ET.fromstring(_plain(data))  # noqa: S314 - no declaration is in it
    except (ET.ParseError, ValueError, LookupError):
        raise StorageError("the store's answer is not XML") from None
    if "}" in root.tag:
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
    if name and root.tag != name:
        raise StorageError(f"the store's answer is no {name}")
    return root


def _plain(data: bytes) -> bytes:
    found = _DEFAULT_NAMESPACE.match(data)
    return data if found is None else data[: found.start(1)] + data[found.end(1) :]


def text(element: ET.Element, name: str) -> str:
    """The text of a child, or ``""``."""
    return element.findtext(name) or ""


def is_expressible(key: str) -> bool:
    """Whether a document can hold the key."""
    return _NOT_IN_XML.search(key) is None


def decoded_name(encoded: str, is_encoded: bool) -> str:
    """A key in an answer whose names are ``is_encoded`` as those of URLs."""
    if not is_encoded or ("%" not in encoded and "+" not in encoded):
        return encoded
    return unquote_plus(encoded, errors="surrogateescape")


def delete_request(keys: Iterable[str]) -> bytes:
    """The body of DeleteObjects, which is to report failures only."""
    objects = "".join([f"<Object><Key>{escape(key, _TEXT_ESCAPES)}</Key></Object>" for key in keys])
    return f'<Delete xmlns="{NAMESPACE}">{objects}<Quiet>true</Quiet></Delete>'.encode()


@dataclass(frozen=True, slots=True)
class FailedKey:
    """One failure in the answer to DeleteObjects."""

    key: str
    code: str


def delete_failures(data: bytes) -> list[FailedKey]:
    """The failures in the answer to DeleteObjects."""
    if not data.strip():
        return []
    return [
        FailedKey(text(element, "Key"), text(element, "Code"))
        for element in parse(data, "DeleteResult").iterfind("Error")
    ]


def complete_request(parts: Sequence[tuple[str, str]]) -> bytes:
    """The body of CompleteMultipartUpload, from the ETag and the CRC32 (or ``""``) of each part."""
    listed = "".join(
        [
            f"<Part><ETag>{escape(etag)}</ETag>"
            + (f"<ChecksumCRC32>{crc}</ChecksumCRC32>" if crc else "")
            + f"<PartNumber>{number}</PartNumber></Part>"
            for number, (etag, crc) in enumerate(parts, 1)
        ]
    )
    return f'<CompleteMultipartUpload xmlns="{NAMESPACE}">{listed}</CompleteMultipartUpload>'.encode()


@dataclass(frozen=True, slots=True)
class PendingUpload:
    """An upload that was started and neither finished nor aborted."""

    key: str
    upload_id: str
    initiated: str


@dataclass(frozen=True, slots=True)
class Uploads:
    """One page of pending uploads, and the markers of the next; empty on the last."""

    uploads: tuple[PendingUpload, ...]
    key_marker: str
    id_marker: str


def pending_uploads(data: bytes) -> Uploads:
    """The answer to ListMultipartUploads."""
    root = parse(data)
    is_encoded = text(root, "EncodingType") == "url"
    uploads = tuple(
        [
            PendingUpload(
                decoded_name(text(found, "Key"), is_encoded), text(found, "UploadId"), text(found, "Initiated")
            )
            for found in root.iterfind("Upload")
        ]
    )
    marks = root if text(root, "IsTruncated") == "true" else _NO_MARKS
    return Uploads(uploads, decoded_name(text(marks, "NextKeyMarker"), is_encoded), text(marks, "NextUploadIdMarker"))


def part_times(data: bytes) -> tuple[list[str], str]:
    """When each part in the answer to ListParts was stored, and where the next page begins; empty on the last."""
    root = parse(data, "ListPartsResult")
    marker = text(root, "NextPartNumberMarker") if text(root, "IsTruncated") == "true" else ""
    return [text(part, "LastModified") for part in root.iterfind("Part")], marker
