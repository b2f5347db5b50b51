"""Copies within the store, of any size; metadata comes along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from moorage import ConflictError, LimitExceededError, StorageError
from moorage.objects import CopyOptions, Matches, ObjectInfo, PreconditionFailed, PutOptions
from moorage_s3.addressing import Place
from moorage_s3.answers import listed_time, object_info, plain_version
from moorage_s3.conditions import condition_headers, error_of, is_unmet, matching
from moorage_s3.dialect import Dialect, media_headers
from moorage_s3.documents import parse, text
from moorage_s3.multipart import Multipart, Part
from moorage_s3.sending import Answer, Request, Sender
from moorage_s3.signing import encode_key
from moorage_s3.uploading import Uploading
from moorage_s3.write_marks import HEADER as WRITES
from moorage_s3.write_marks import WriteMarks

_KEPT: Final = (
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Type",
    "Expires",
    "x-amz-website-redirect-location",
)
_META: Final = "x-amz-meta-"
_TOO_LARGE: Final = frozenset({"EntityTooLarge", "InvalidRequest"})


class Copying:
    """Copies of one client."""

    def __init__(self, sender: Sender, dialect: Dialect, uploading: Uploading, write_marks: WriteMarks) -> None:
        self._write_marks = write_marks
        self._sender = sender
        self._dialect = dialect
        self._uploading = uploading
        self._multipart = Multipart(sender, dialect)

    def must_be_written(self, options: CopyOptions) -> bool:
        """Whether the source must be read and written in one request: a copy in parts would lose the condition.

        Raises:
            LimitExceededError: it is too large for that.
        """
        size = options.source_size
        if options.condition is None or self._uploading.judges_parts or size is None:
            return False
        if size > self._dialect.largest_put:
            raise LimitExceededError("larger than this store takes under a condition")
        return size > self._dialect.multipart_copy_from

    async def copy(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        """See :meth:`moorage.objects.ObjectClient.copy`.

        A copy has its source's metadata and so no mark of this client: when an answer was lost and the condition then
        fails, whether this copy took effect cannot be told, and the signal says so.
        """
        size = options.source_size
        if size is not None and size > self._dialect.multipart_copy_from:
            return await self._in_parts(src, dst, options)
        answer = await self._once(src, dst, options)
        if answer.is_success:
            return _copied(dst, answer, options.media_type)
        refused = answer.refusal
        if refused is not None and refused.code in _TOO_LARGE and size is None:
            found = await self._source(src, options)
            if (found.size or 0) > self._dialect.multipart_copy_from:
                return await self._in_parts(src, dst, options)
        raise await self._error(answer, src, dst, options)

    async def _once(self, src: str, dst: str, options: CopyOptions) -> Answer:
        headers = {
            **self._dialect.new_object,
            "x-amz-copy-source": source_header(self._sender.place, src),
            **condition_headers(dst, options.condition),
        }
        if options.source_version is not None:
            headers["x-amz-copy-source-if-match"] = matching(src, options.source_version)
        if options.media_type is not None:
            kept = await self._metadata(src)
            headers |= {"x-amz-metadata-directive": "REPLACE", **kept, **media_headers(options.media_type)}
        return await self._sender.send(Request("PUT", dst, headers=headers))

    async def _error(self, answer: Answer, src: str, dst: str, options: CopyOptions) -> Exception:
        refused = answer.refusal
        if refused is not None and refused.status == 404 and isinstance(options.condition, Matches):
            found = await self._sender.send(Request("HEAD", src))
            if not found.is_success:
                return found.error()
        has_condition = options.condition is not None or options.source_version is not None
        if has_condition and refused is not None and refused.status == 412:
            return PreconditionFailed(dst, retried=answer.lost and options.condition is not None)
        error = error_of(answer, dst, options.condition)
        if isinstance(error, ConflictError) and answer.lost and options.condition is not None:
            return PreconditionFailed(dst, retried=True)
        return error

    async def _source(self, src: str, options: CopyOptions) -> ObjectInfo:
        found = await self._head(src)
        info = object_info(src, found.headers)
        if options.source_version not in (None, info.version):
            raise PreconditionFailed(src)
        return info

    async def _head(self, src: str) -> Answer:
        found = await self._sender.send(Request("HEAD", src))
        if not found.is_success:
            raise found.error()
        return found

    async def _metadata(self, src: str) -> dict[str, str]:
        return kept_metadata((await self._head(src)).headers)

    async def _in_parts(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        """In parts, each of the version that was looked at first."""
        if options.condition is not None and not self._uploading.judges_parts:
            raise LimitExceededError("larger than this store takes under a condition")
        found = await self._head(src)
        info = object_info(src, found.headers)
        if options.source_version not in (None, info.version):
            raise PreconditionFailed(src)
        descent = self._write_marks.descent(dst, options.condition)
        headers = {
            **self._dialect.new_object,
            **kept_metadata(found.headers),
            **media_headers(options.media_type),
            WRITES: descent.header,
        }
        size = info.size or 0
        media_type = options.media_type or info.media_type
        if not size:
            return await self._uploading.put(dst, b"", PutOptions(options.condition, media_type))
        done = await self._multipart.assemble(
            dst, headers, condition_headers(dst, options.condition), self._parts(src, dst, info), size
        )
        answer = done.answer
        if answer.is_success and done.version:
            return ObjectInfo(dst, size, done.version, media_type=media_type)
        if answer.is_success or answer.lost or is_unmet(answer, options.condition):
            stored = await self._sender.send(Request("HEAD", dst))
            if stored.is_success and descent.is_stored(stored.headers, dst):
                return object_info(dst, stored.headers)
        raise error_of(answer, dst, options.condition)

    def _parts(self, src: str, dst: str, info: ObjectInfo) -> list[Part]:
        size = info.size or 0
        step = max(self._dialect.copy_part_size, -(-size // 10_000))
        source = source_header(self._sender.place, src)
        version = matching(src, info.version)

        def part(start: int) -> Part:
            async def make(number: int, upload_id: str) -> tuple[str, str]:
                headers = {
                    "x-amz-copy-source": source,
                    "x-amz-copy-source-if-match": version,
                    "x-amz-copy-source-range": f"bytes={start}-{min(start + step, size) - 1}",
                }
                query = {"partNumber": str(number), "uploadId": upload_id}
                answer = await self._sender.send(Request("PUT", dst, query, headers))
                if answer.refusal is not None and answer.refusal.status == 412:
                    raise PreconditionFailed(src)
                if not answer.is_success:
                    raise answer.error()
                made = parse(answer.body)
                return text(made, "ETag"), text(made, "ChecksumCRC32") if self._dialect.crc32 else ""

            return make

        return [part(start) for start in range(0, size, step)]


def source_header(place: Place, key: str) -> str:
    """The value of ``x-amz-copy-source``."""
    return f"/{encode_key(place.bucket)}/{encode_key(key)}"


def kept_metadata(headers: Mapping[str, str]) -> dict[str, str]:
    """What a replacing request must repeat of its source, other than this client's mark."""
    kept = {name.lower(): headers[name] for name in _KEPT if name in headers}
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith(_META) and lower != WRITES:
            kept[lower] = value
    return kept


def _copied(dst: str, answer: Answer, media_type: str | None) -> ObjectInfo:
    made = parse(answer.body)
    version = plain_version(text(made, "ETag"))
    if not version:
        raise StorageError("the store's answer to a copy has no ETag")
    info = ObjectInfo(dst, None, version, modified_at=listed_time(text(made, "LastModified")))
    return replace(info, media_type=media_type)
