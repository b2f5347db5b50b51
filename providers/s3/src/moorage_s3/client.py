"""S3 as an object client."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, NoReturn

import anyio

from moorage import Body, ClosedError, MoorageError, PathNotFoundError, UnavailableError, UnsupportedError
from moorage.objects import (
    ABSENT,
    COPY,
    DELETE_KEY,
    GET,
    LIST,
    PUT,
    CopyOptions,
    DeleteFailure,
    GetOptions,
    KeyDeleteOptions,
    ListOptions,
    Matches,
    ObjectBody,
    ObjectClient,
    ObjectFeatures,
    ObjectInfo,
    ObjectPage,
    PreconditionFailed,
    PutOptions,
)
from moorage_s3.answers import object_info
from moorage_s3.connections import Connections, running_loop
from moorage_s3.credentials import CredentialSource
from moorage_s3.deleting import BATCH
from moorage_s3.listing import PAGE, pages
from moorage_s3.locating import locate, store_identity
from moorage_s3.loop_lock import LoopLock
from moorage_s3.operations import Operations
from moorage_s3.probing import DISTRUSTED, TRUSTED, Findings, Probe, remember, remembered
from moorage_s3.sending import Answer, Request
from moorage_s3.settings import Settings
from moorage_s3.sweeping import Sweeping

_log: Final = logging.getLogger("moorage.s3")
_LARGEST_OBJECT: Final = 5 << 40
_KEY_BYTES: Final = 1024
_UNASKED: Final = Findings(put=True, multipart=True, delete=True, exists=False, copy=True, source=True)
"""What the store is taken for until it is asked: nothing that a request would rely on unseen."""


class S3ObjectClient(ObjectClient):
    """One bucket of S3 or of a store that speaks like it; asyncio only.

    A client may be used on several event loops, one after the other or at once; after a fork it is closed in the
    child. It is not pickled.
    """

    scheme = "s3"

    def __init__(self, settings: Settings) -> None:
        self.identity = store_identity(settings)
        self._settings = settings
        self._source = CredentialSource(settings.fetch, settings.limits.patience)
        self._connections = Connections(settings.limits)
        self._opened: Operations | None = None
        self._probing = LoopLock()
        self._sample: str | None = None
        self._findings: Findings | None = {"atomic": TRUSTED, "none": DISTRUSTED}.get(settings.conditional_write)

    def __repr__(self) -> str:
        return f"S3ObjectClient({self.identity!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client holds credentials and connections, and is not pickled")

    @property
    def features(self) -> ObjectFeatures:
        found = self._findings or _UNASKED
        return ObjectFeatures(
            conditional_put=found.put and found.absent is not False,
            conditional_delete=found.delete,
            conditional_copy=found.put,
            conditional_source=found.source is not False,
            delete_reports_missing=found.exists and self._opened is not None and self._opened.can_delete_existing,
            page_size=PAGE,
            delete_batch=BATCH,
            max_key_bytes=_KEY_BYTES,
            max_object_size=_LARGEST_OBJECT,
        )

    async def probe(self) -> ObjectFeatures:
        if self._findings is None:
            async with self._probing.here():
                await self._ask()
        return self.features

    async def start(self) -> None:
        """Connect, and look whether the bucket answers: one listing of one key below the prefix.

        Raises:
            PermissionDeniedError: no credentials, or forbidden, or clock skew.
            UnavailableError: no such bucket, wrong region, or the store cannot be reached.
            UnsupportedError: the event loop is not asyncio's.
        """
        running_loop()
        await self._connections.open()
        try:
            if self._opened is None:
                place = await locate(self._settings)
                self._opened = Operations(place, self._settings, self._source, self._connections)
                self._opened.learn(self._findings or _UNASKED)
            await self._check_bucket(self._opened)
            if self._settings.probe_at_start:
                await self.probe()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._connections.aclose()
            raise

    async def aclose(self) -> None:
        await self._connections.aclose()

    async def head(self, key: str) -> ObjectInfo:
        answer = await self._do.sender.send(Request("HEAD", key))
        if not answer.is_success:
            raise answer.error()
        self._do.write_marks.saw(key, answer.headers)
        self._do.copying.saw(key, answer.headers)
        return object_info(key, answer.headers)

    async def get(self, key: str, options: GetOptions = GET) -> ObjectBody:
        return await self._do.downloading.get(key, options)

    async def put(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        return await self._put(key, body, options)

    async def append(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        raise UnsupportedError("this store has no append")

    async def delete(self, key: str, options: KeyDeleteOptions = DELETE_KEY) -> None:
        await self._do.deleting.delete(key, options.condition)

    async def delete_many(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        return await self._do.deleting.delete_many(keys)

    async def copy(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        found = self._findings
        if options.condition is not None and found is not None and found.put and not found.copy:
            async with self._probing.here():
                found = await self._ask_about_copies(src)
            if not found.copy:
                return await self._copy_through(src, dst, options)
        if self._do.copying.must_be_written(options):
            return await self._copy_through(src, dst, options)
        return await self._do.copying.copy(src, dst, options)

    async def move(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        raise UnsupportedError("this store has no move")

    async def list(self, prefix: str, options: ListOptions = LIST) -> AsyncGenerator[ObjectPage, None]:
        async with aclosing(pages(self._do.sender, prefix, options)) as found:
            async for page in found:
                yield page

    async def sweep(self, older_than: float) -> int:
        """Remove uploads below the prefix that stand still for so many seconds; how many. See :class:`Sweeping`."""
        return await Sweeping(self._do.sender, self._settings.prefix).sweep(older_than)

    @property
    def _do(self) -> Operations:
        if self._opened is None:
            raise ClosedError("the client was not started", provider=self.scheme)
        return self._opened

    @property
    def _probe(self) -> Probe:
        return Probe(self._do.sender, self._settings.prefix, self._settings.dialect.new_object)

    async def _check_bucket(self, do: Operations) -> None:
        query = {"list-type": "2", "max-keys": "1", "prefix": self._settings.prefix}
        answer = await do.sender.send(Request("GET", "", query))
        if not answer.is_success:
            raise _bucket_error(answer)
        do.meet(answer.headers.get("Server", ""))

    async def _ask(self) -> None:
        if self._findings is not None:
            return
        known = remembered(await self._identity())
        self._found(known or await self._probe.run(self._sample))
        await self._remember()

    async def _ask_about_copies(self, source: str) -> Findings:
        """What the probe left open for want of an object to copy."""
        found = self._findings or _UNASKED
        if found.copy is None:
            found = await self._probe.run_copies(found, source)
            self._found(found)
            await self._remember()
        return found

    async def _copy_through(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        """By reading and writing, where the store judges conditions on puts but not on such a copy."""
        version, kept = await self._do.copying.metadata(src, options.source_version)
        body = await self.get(src, GetOptions(version=version))
        try:
            how = PutOptions(options.condition, options.media_type or kept.get("content-type") or None)
            return await self._put(dst, body.chunks, how, kept)
        finally:
            if body.aclose is not None:
                await body.aclose()

    async def _put(
        self, key: str, body: Body, options: PutOptions, kept: Mapping[str, str] | None = None
    ) -> ObjectInfo:
        found = self._findings
        if options.condition is ABSENT and found is not None and found.put and found.absent is None:
            return await self._put_and_see(key, body, options, kept)
        info = await self._do.uploading.put(key, body, options, kept)
        self._sample = key
        return info

    async def _put_and_see(
        self, key: str, body: Body, options: PutOptions, kept: Mapping[str, str] | None
    ) -> ObjectInfo:
        """The first create-only puts also show whether the store enforces that, which takes an object that exists.

        Until then it is looked first whether the key is free, so that a store that ignores the condition cannot
        replace anything; then the same put is repeated, which an honest store refuses.
        """
        do = self._do
        answer = await do.sender.send(Request("HEAD", key))
        if answer.is_success:
            raise PreconditionFailed(key)
        try:
            info = await do.uploading.put(key, body, options, kept)
        except PreconditionFailed:
            await self._saw_absent(True)
            raise
        self._sample = key
        if isinstance(body, bytes) and len(body) <= self._settings.dialect.part_size:
            refused = await do.uploading.repeat_is_refused(key, body, options, info.version, kept)
            if refused is not None:
                await self._saw_absent(refused)
            if refused is False and self._settings.conditional_write != "guarded":
                await self._take_back(key, info.version)
                raise UnsupportedError("this store does not refuse to replace an object; nothing was written")
        return info

    async def _take_back(self, key: str, version: str) -> None:
        """Delete what was just made, and nothing that somebody else has put in its place."""
        try:
            if self._findings is not None and self._findings.delete:
                await self._do.deleting.delete(key, Matches(version))
            elif (await self.head(key)).version == version:
                await self._do.deleting.delete(key, None)
        except (PathNotFoundError, PreconditionFailed):
            pass

    async def _saw_absent(self, enforced: bool) -> None:
        self._found(replace(self._findings or _UNASKED, absent=enforced))
        await self._remember()

    def _found(self, findings: Findings) -> None:
        self._findings = findings
        self._do.learn(findings)
        if not self.features.conditional_put:
            _log.warning("%s does not refuse stale writes: conditional_write is 'none' there", self.identity)

    async def _remember(self) -> None:
        if self._findings is not None:
            remember(await self._identity(), self._findings)

    async def _identity(self) -> tuple[str, ...]:
        credentials = self._source.current() or await self._source.fresh()
        who = "" if credentials is None else hashlib.sha256(credentials.access_key_id.encode()).hexdigest()
        return (self._do.sender.place.identity, who)


def _bucket_error(answer: Answer) -> MoorageError:
    """What is wrong with the bucket itself: a listing has no key that could be missing."""
    if answer.refusal is not None and answer.refusal.status == 404:
        return UnavailableError("no such bucket", retryable=False)
    return answer.error()
