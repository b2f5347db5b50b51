"""Copies within the store, of any size; metadata comes along."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from moorage import ConflictError, LimitExceededError, StorageError, UnsupportedError
from moorage.objects import CopyOptions, Matches, ObjectInfo, PreconditionFailed, PutOptions
from moorage_s3.addressing import Place
from moorage_s3.answers import listed_time, object_info, plain_version
from moorage_s3.conditions import condition_headers, error_of, matching
from moorage_s3.dialect import Dialect, media_headers
from moorage_s3.documents import parse, text
from moorage_s3.metadata import is_repeatable, kept_metadata, room_for_marks
from moorage_s3.multipart import Multipart, Part
from moorage_s3.sending import Answer, Request, Sender
from moorage_s3.settling import Watch, Write
from moorage_s3.signing import encode_key
from moorage_s3.unmarked import UnmarkedWatch
from moorage_s3.uploading import Uploading
from moorage_s3.write_marks import HEADER as WRITES
from moorage_s3.write_marks import WriteMarks

_REMEMBERED: Final = 64
_TOO_LARGE: Final = frozenset({"EntityTooLarge", "InvalidRequest"})


class Copying:
    """Copies of one client."""

    def __init__(self, sender: Sender, dialect: Dialect, uploading: Uploading, write_marks: WriteMarks) -> None:
        self._write_marks = write_marks
        self._sender = sender
        self._dialect = dialect
        self._uploading = uploading
        self._enforcement = uploading.enforcement
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
        watch = self._watch(src, dst, options, headers)
        is_settled = None if watch is None else watch.is_settled
        answer = await self._sender.send(Request("PUT", dst, headers=headers, is_settled=is_settled))
        if not answer.is_success:
            return await self._otherwise(answer, watch, src, dst, options)
        if not _version(answer):
            garbled = replace(answer, failure=StorageError("the store's answer to a copy has no ETag"), lost=True)
            garbled.settled = watch is None or await watch.is_settled(garbled)
            return await self._otherwise(garbled, watch, src, dst, options)
        if isinstance(watch, Watch):
            self._write_marks.wrote(dst, _version(answer), watch.write.descent)
        return _copied(dst, answer, options.media_type)

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

    def _watch(self, src: str, dst: str, options: CopyOptions, headers: dict[str, str]) -> Watch | UnmarkedWatch | None:
        """Looks after the copy, by its mark where it can have one, which the headers get."""
        if options.condition is None:
            return UnmarkedWatch(self._sender, self._write_marks, dst, guards=self._enforcement.copies)
        descent, kept = self._write_marks.descent(dst, options.condition), dict[str, str]()
        if options.media_type is None:
            seen = self._heads.get(src, {})
            kept = kept_metadata(seen)
            if plain_version(seen.get("ETag", "")) != options.source_version or not is_repeatable(seen, kept):
                return None
        marked = descent.within(room_for_marks({**headers, **kept}))
        if marked is None:
            return None
        headers |= {"x-amz-metadata-directive": "REPLACE", **kept, WRITES: marked.header}
        return self._uploading.settling.watch(Write(dst, options.condition, options.media_type, marked))

    async def _otherwise(
        self, answer: Answer, watch: Watch | UnmarkedWatch | None, src: str, dst: str, options: CopyOptions
    ) -> ObjectInfo:
        """What came of a copy whose answer is no success."""
        size = options.source_size
        refused = answer.refusal
        if refused is not None and refused.code in _TOO_LARGE and size is None:
            _, info = await self._source(src, options)
            if (info.size or 0) > self._dialect.multipart_copy_from:
                return await self._in_parts(src, dst, options)
        if isinstance(watch, Watch) and answer.lost:
            return await watch.own(answer, size or 0)
        if isinstance(watch, UnmarkedWatch) and answer.settled:
            return await self._unmarked(answer, watch, src, dst, options)
        if watch is None and answer.settled:
            raise PreconditionFailed(dst, retried=True)
        raise await self._error(answer, src, dst, options)

    async def _unmarked(
        self, answer: Answer, watch: UnmarkedWatch, src: str, dst: str, options: CopyOptions
    ) -> ObjectInfo:
        """What came of a copy without a condition whose answer was lost: the source's content there is its effect."""
        if watch.base is None:
            if watch.found is None:
                raise answer.error()
            if watch.found.version != options.source_version:
                raise PreconditionFailed(dst, retried=True)
            return watch.found
        try:
            return await self.copy(src, dst, replace(options, condition=watch.base))
        except PreconditionFailed as failed:
            if failed.retried:
                raise
            raise ConflictError("another write came first, while this one was repeated") from None
        except UnsupportedError:
            self._enforcement.copies = False
            return await self.copy(src, dst, options)

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

    async def metadata(self, src: str, version: str | None) -> tuple[str, dict[str, str]]:
        """The present version of an object, and what is to be sent where it is copied by reading and writing.

        Raises:
            PreconditionFailed: the version is another one.
            UnsupportedError: it has metadata that no request can repeat.
        """
        headers = self._heads.get(src, {})
        if version is None or plain_version(headers.get("ETag", "")) != version:
            found, _ = await self._source(src, CopyOptions(source_version=version))
            headers = found.headers
        kept = kept_metadata(headers)
        if not is_repeatable(headers, kept):
            raise UnsupportedError("this store copies such metadata without a condition only")
        return plain_version(headers.get("ETag", "")), kept

    async def _in_parts(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        """In parts, each of the version that was looked at first."""
        if options.condition is not None and not self._uploading.judges_parts:
            raise LimitExceededError("larger than this store takes under a condition")
        found, info = await self._source(src, options)
        size = info.size or 0
        media_type = options.media_type or info.media_type
        if not size:
            return await self._uploading.put(dst, b"", PutOptions(options.condition, media_type))
        kept = {**kept_metadata(found.headers), **media_headers(options.media_type)}
        descent = self._write_marks.descent(dst, options.condition)
        marked = descent.within(room_for_marks(kept))
        marks = {} if marked is None else {WRITES: marked.header}
        watch = self._uploading.settling.watch(Write(dst, options.condition, media_type, marked or descent))
        conditions = condition_headers(dst, options.condition)
        parts = self._parts(src, dst, info)
        headers = {**self._dialect.new_object, **kept, **marks}
        done = await self._multipart.assemble(dst, headers, conditions, parts, size, watch.is_settled)
        made = await watch.outcome(done.answer, done.version, size)
        if marked is not None:
            self._write_marks.wrote(dst, made.version, marked)
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


def _version(answer: Answer) -> str:
    try:
        return plain_version(text(parse(answer.body), "ETag"))
    except StorageError:
        return ""


def _copied(dst: str, answer: Answer, media_type: str | None) -> ObjectInfo:
    modified = listed_time(text(parse(answer.body), "LastModified"))
    return ObjectInfo(dst, None, _version(answer), modified_at=modified, media_type=media_type)
