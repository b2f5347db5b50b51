"""How a client speaks to its store: the headers and sizes that options stand for."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from moorage import InvalidArgumentError

MIB: Final = 1 << 20

ConditionalWrite = Literal["probe", "atomic", "guarded", "none"]


@dataclass(frozen=True, slots=True)
class Quirks:
    """What no request can find out about a kind of server, known from races against it.

    Attributes:
        completes_atomically: of completions that race with one condition, exactly one succeeds.
        has_directories: beneath is a file system. Deleting ``a`` succeeds where there are only keys below ``a/``, and
            a directory outlives its last key, until ``a/`` is deleted: which it is only when it is empty.
    """

    completes_atomically: bool = True
    has_directories: bool = False


def quirks_of(server: str) -> Quirks:
    """By the ``Server`` header. SeaweedFS 4.48 let up to 20 of 20 racing completions succeed, and 1 of 20 puts."""
    return Quirks(False, True) if server.startswith("SeaweedFS") else Quirks()


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between stores and wishes.

    Attributes:
        part_size: bytes from which a body is sent in parts of this size.
        concurrency: most parts of one transfer under way at once.
        crc32: send a CRC-32 with each body, and check the ones that come back.
        new_object: headers of every request that makes an object: encryption, storage class, ACL.
        multipart_copy_from, copy_part_size: bytes from which, and in which, an object is copied in parts.
        parallel_from: bytes from which a download uses several connections.
    """

    part_size: int = 8 * MIB
    concurrency: int = 4
    crc32: bool = False
    new_object: Mapping[str, str] = field(default_factory=dict[str, str])
    multipart_copy_from: int = 5 << 30
    copy_part_size: int = 512 * MIB
    parallel_from: int = 64 * MIB
    largest_put: int = 5 << 30

    def body_headers(self, body: bytes) -> dict[str, str]:
        """The checksum of a body, where one is wanted."""
        return {"x-amz-checksum-crc32": crc32(body)} if self.crc32 else {}


def crc32(body: bytes) -> str:
    """The CRC-32 as S3 writes it."""
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def media_headers(media_type: str | None) -> dict[str, str]:
    """The header of a media type.

    Raises:
        InvalidArgumentError: it cannot stand in a header.
    """
    if media_type is None:
        return {}
    if not media_type or not media_type.isascii() or not media_type.isprintable():
        raise InvalidArgumentError("media_type: printable ASCII is wanted")
    return {"content-type": media_type}
