"""Copies within the store, of any size; metadata comes along."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from moorage import ConflictError, LimitExceededError, StorageError
from moorage.objects import CopyOptions, Matches, ObjectInfo, PreconditionFailed, PutOptions
from moorage_s3.addressing import Place
from moorage_s3.answers import listed_time, object_info, plain_version
from moorage_s3.conditions import condition_headers, error_of, matching
from moorage_s3.dialect import Dialect, media_headers
from moorage_s3.documents import parse, text
from moorage_s3.multipart import Multipart, Part
from moorage_s3.sending import Answer, Request, Sender
from moorage_s3.settling import Settling, Write
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
_LARGEST_META: Final = 2048
"""Bytes of names and values that S3 takes."""
_REMEMBERED: Final = 64
_GARBLED: Final = 2
"""How often a copy is made again whose answer is a success that says nothing."""
_TOO_LARGE: Final = frozenset({"EntityTooLarge", "InvalidRequest"})


class Copying:
    """Copies of one client."""

    def __init__(self, sender: Sender, dialect: Dialect, uploading: Uploading, write_marks: WriteMarks) -> None:
        self._write_marks = write_marks
        self._sender = sender
        self._dialect = dialect
        self._uploading = uploading
        self._settling = Settling(sender)
        self._multipart = Multipart(sender, dialect)
        self._heads: OrderedDict[str, Mapping[str, str]] = OrderedDict()

    def saw(self, key: str, headers: Mapping[str, str]) -> None:
        """Remember an answer to HEAD: what a copy of that object must repeat if it is to have a mark."""
        self._heads[key] = headers
        self._heads.move_to_end(key)
        if len(self._heads) > _REMEMBERED:
            self._heads.popitem(last=False)

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

        A copy with its source's metadata has no mark of this client: when an answer was lost and the condition then
        fails, whether this copy took effect cannot be told, and the signal says so. So a copy under a condition gives
        the metadata itself, where they were seen with the source's version, and its mark along with them.
        """
        size = options.source_size
        if size is not None and size > self._dialect.multipart_copy_from:
            return await self._in_parts(src, dst, options)
        headers = await self._headers(src, dst, options)
        write = self._marked(src, dst, options, headers)
        answer = await self._send(dst, headers, write)
        for _ in range(_GARBLED):
            if write is not None or not answer.is_success or _version(answer):
                break
            answer = await self._send(dst, headers, None)
        if answer.is_success and _version(answer):
            if write is not None:
                self._write_marks.wrote(dst, _version(answer), write.descent)
            return _copied(dst, answer, options.media_type)
        return await self._otherwise(answer, write, src, dst, options)

    async def _headers(self, src: str, dst: str, options: CopyOptions) -> dict[str, str]:
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
        return headers

    def _marked(self, src: str, dst: str, options: CopyOptions, headers: dict[str, str]) -> Write | None:
        """The copy as a write that leaves a mark, which the headers get; ``None`` where that cannot be."""
        if options.condition is None:
            return None
        descent = self._write_marks.descent(dst, options.condition)
        if options.media_type is None:
            seen = self._heads.get(src, {})
            is_same = plain_version(seen.get("ETag", "")) == options.source_version
            kept = kept_metadata(seen) if is_same else {}
            if not is_same or not _can_be_repeated(seen, kept, descent.header):
                return None
            headers |= {"x-amz-metadata-directive": "REPLACE", **kept}
        headers[WRITES] = descent.header
        return Write(dst, options.condition, options.media_type, descent)

    async def _send(self, dst: str, headers: Mapping[str, str], write: Write | None) -> Answer:
        watch = None if write is None else self._settling.watch(write)
        return await self._sender.send(Request("PUT", dst, headers=headers, is_settled=watch))

    async def _otherwise(
        self, answer: Answer, write: Write | None, src: str, dst: str, options: CopyOptions
    ) -> ObjectInfo:
        """What came of a copy whose answer is no success."""
        size = options.source_size
        refused = answer.refusal
        if answer.is_success:
            answer = replace(answer, failure=StorageError("the store's answer to a copy has no ETag"), lost=True)
        elif refused is not None and refused.code in _TOO_LARGE and size is None:
            _, info = await self._source(src, options)
            if (info.size or 0) > self._dialect.multipart_copy_from:
                return await self._in_parts(src, dst, options)
        if write is not None and answer.lost:
            return await self._settling.own(write, answer, size or 0)
        raise await self._error(answer, src, dst, options)

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

    async def _source(self, src: str, options: CopyOptions) -> tuple[Answer, ObjectInfo]:
        """The source, which has the expected version."""
        found = await self._head(src)
        info = object_info(src, found.headers)
        if options.source_version not in (None, info.version):
            raise PreconditionFailed(src)
        return found, info

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
        found, info = await self._source(src, options)
        size = info.size or 0
        media_type = options.media_type or info.media_type
        if not size:
            return await self._uploading.put(dst, b"", PutOptions(options.condition, media_type))
        write = Write(dst, options.condition, media_type, self._write_marks.descent(dst, options.condition))
        headers = {
            **self._dialect.new_object,
            **kept_metadata(found.headers),
            **media_headers(options.media_type),
            WRITES: write.descent.header,
        }
        conditions = condition_headers(dst, options.condition)
        parts = self._parts(src, dst, info)
        done = await self._multipart.assemble(dst, headers, conditions, parts, size, self._settling.watch(write))
        made = await self._settling.outcome(write, done.answer, done.version, size)
        self._write_marks.wrote(dst, made.version, write.descent)
        return made

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


def _can_be_repeated(headers: Mapping[str, str], kept: Mapping[str, str], mark: str) -> bool:
    """Whether the metadata can be sent just as they are stored, and there is room for the mark beside them."""
    if "x-amz-missing-meta" in headers or not all(v.isascii() and v.isprintable() for v in kept.values()):
        return False
    size = sum(len(name) - len(_META) + len(value) for name, value in kept.items() if name.startswith(_META))
    return size + len(WRITES) - len(_META) + len(mark) <= _LARGEST_META


def _version(answer: Answer) -> str:
    try:
        return plain_version(text(parse(answer.body), "ETag"))
    except StorageError:
        return ""


def _copied(dst: str, answer: Answer, media_type: str | None) -> ObjectInfo:
    modified = listed_time(text(parse(answer.body), "LastModified"))
    return ObjectInfo(dst, None, _version(answer), modified_at=modified, media_type=media_type)
