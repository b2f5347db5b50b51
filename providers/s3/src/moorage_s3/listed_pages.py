"""The answer to ListObjectsV2: first what it takes to ask for the next page, then its entries."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Final
from xml.etree import ElementTree as ET

from moorage import StorageError
from moorage.objects import ObjectInfo, ObjectPage
from moorage_s3.answers import listed_time, plain_version
from moorage_s3.documents import decoded_name, parse, text

_Row = tuple[str, str, str, str]
"""Key, size, version and time, as texts."""

_PLAIN: Final = "[ -%'-;=?-~]*+"
"""Text that stands for itself in XML."""
_QUOTE: Final = "(?:&quot;|&#34;)"
_ENTRY: Final = re.compile(
    rf"<Contents>(?:<Key>({_PLAIN})</Key>|<Size>([0-9]{{1,19}})</Size>"
    rf"|<ETag>{_QUOTE}({_PLAIN}){_QUOTE}</ETag>|<LastModified>({_PLAIN})</LastModified>"
    rf"|<(?:StorageClass>{_PLAIN}</StorageClass|ChecksumAlgorithm>{_PLAIN}</ChecksumAlgorithm"
    rf"|ChecksumType>{_PLAIN}</ChecksumType)>)*+</Contents>"
)
"""An entry as stores write it; whatever else it may hold needs a parser. Of a repeated element the last one counts."""
_SIZE: Final = re.compile("[0-9]{1,19}")
_ENCODING: Final = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([^"']*+)""")
_READ_AS_ASCII: Final = frozenset({b"utf-8", b"us-ascii"})
_FIELDS: Final = 4
_IN_THEIR_PLACE: Final = "<Contents/>"


@dataclass(frozen=True, slots=True)
class ListedPage:
    """One page whose entries are not read yet.

    Attributes:
        count: entries and prefixes.
        more: pages follow.
        token: where the next one begins; empty on the last, or where the store does not tell.
    """

    count: int
    more: bool
    token: str
    _rows: list[_Row] = field(repr=False)
    _prefixes: tuple[str, ...] = field(repr=False)
    _is_encoded: bool

    def read(self) -> ObjectPage:
        """The entries.

        Raises:
            StorageError: one has no size.
        """
        is_encoded, moment = self._is_encoded, cache(listed_time)
        try:
            objects = [
                ObjectInfo(decoded_name(key, is_encoded), int(size), version, moment(modified))
                for key, size, version, modified in self._rows
            ]
        except ValueError:
            raise StorageError("the store's listing has an entry without key or size") from None
        return ObjectPage(tuple(objects), self._prefixes, self.more)


def listed_page(data: bytes) -> ListedPage:
    """The page.

    Raises:
        StorageError: the answer is no listing, or an entry has no key.
    """
    root, rows = _outlined(data) or _parsed(data)
    is_encoded = text(root, "EncodingType") == "url"
    is_truncated = text(root, "IsTruncated") == "true"
    token = text(root, "NextContinuationToken") if is_truncated else ""
    folded = tuple([decoded_name(text(found, "Prefix"), is_encoded) for found in root.iterfind("CommonPrefixes")])
    return ListedPage(len(rows) + len(folded), is_truncated, token, rows, folded, is_encoded)


def _outlined(data: bytes) -> tuple[ET.Element, list[_Row]] | None:
    """By cutting the entries out of the text, so that the parser sees little more than what is around them.

    It sees one empty entry in their place, which must be the only one, and where entries are: then they all were.
    ``None`` where some entry has another shape than :data:`_ENTRY`.
    """
    if not data.isascii() or data.find(b"<?", 1) != -1 or not _is_read_as_ascii(data):
        return None
    pieces = _ENTRY.split(data.decode("ascii"))
    before, after, stride = pieces[0], pieces[-1], _FIELDS + 1
    if len(pieces) == 1 or any(pieces[stride:-1:stride]) or None in pieces:
        return None
    root = parse(f"{before}{_IN_THEIR_PLACE}{after}".encode("ascii"), "ListBucketResult")
    if [*root.iter("Contents")] != root.findall("Contents")[:1]:
        return None
    keys, sizes, versions, times = (pieces[number:-1:stride] for number in range(1, stride))
    return root, list(zip(keys, sizes, versions, times, strict=True))


def _parsed(data: bytes) -> tuple[ET.Element, list[_Row]]:
    root = parse(data, "ListBucketResult")
    rows = [_row({child.tag: child.text or "" for child in element}) for element in root.iterfind("Contents")]
    return root, rows


def _is_read_as_ascii(data: bytes) -> bool:
    """Whether a parser would take ASCII in it for just that: some encodings write other things with it."""
    declared = _ENCODING.match(data)
    return declared is None or declared[1].lower() in _READ_AS_ASCII


def _row(values: dict[str, str]) -> _Row:
    if "Key" not in values:
        raise StorageError("the store's listing has an entry without key or size")
    size = values.get("Size", "")
    size = size if _SIZE.fullmatch(size) else ""
    return values["Key"], size, plain_version(values.get("ETag", "")), values.get("LastModified", "")
