"""GCS as an object client."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Final, NoReturn

import anyio

from moorage import Body, InvalidPathError
from moorage.objects import (
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
    ObjectBody,
    ObjectClient,
    ObjectFeatures,
    ObjectInfo,
    ObjectPage,
    PutOptions,
)
from moorage_gcs.appending import FROM_SIZE, Appends
from moorage_gcs.checking import check_bucket
from moorage_gcs.connections import Connections, running_loop
from moorage_gcs.copying import Copies
from moorage_gcs.deleting import BATCH, Batches, delete
from moorage_gcs.downloading import Downloads
from moorage_gcs.listing import PAGE, pages
from moorage_gcs.objects import Bucket, KnownTimes
from moorage_gcs.probing import DISTRUSTED, PROBE_NAME, TRUSTED, Findings, Probe, remember, remembered
from moorage_gcs.sending import Sender
from moorage_gcs.settings import Settings
from moorage_gcs.settling import Settler
from moorage_gcs.tokens import TokenSource
from moorage_gcs.uploading import Target, Uploads
from moorage_gcs.write_marks import WriteMarks

_log: Final = logging.getLogger("moorage.gcs")
_LARGEST_OBJECT: Final = 5 << 40
_KEY_BYTES: Final = 1024


class GCSObjectClient(ObjectClient):
    """One bucket of Google Cloud Storage; asyncio only.

    A client may be used on several event loops, one after the other or at once; after a fork it is closed in the
    child. It is not pickled.
    """

    scheme = "gcs"

    def __init__(self, settings: Settings) -> None:
        self.identity = f"{settings.endpoint.partition('://')[2]}/{settings.bucket}"
        self._settings = settings
        source = TokenSource(settings.credentials, settings.limits.patience)
        self._source = source
        self._connections = Connections(source, settings.endpoint, settings.project, settings.limits)
        self._sender = Sender(settings.endpoint, source, self._connections, settings.sending)
        self._bucket = Bucket(settings.bucket)
        self._known = KnownTimes()
        marks = WriteMarks()
        settler = Settler(self._sender, self._bucket, marks, self._known)
        self._downloads = Downloads(
            self._sender, self._bucket, self._known, marks, part=settings.chunk_size, concurrency=settings.concurrency
        )
        self._uploads = Uploads(self._sender, self._bucket, settings.placing, settler, settings.chunk_size)
        self._appends = Appends(self._sender, self._bucket, settings.placing, settler, self._uploads, settings.prefix)
        self._hidden = (self._appends.reserved, f"{settings.prefix}{PROBE_NAME}")
        self._copies = Copies(self._sender, self._bucket, settings.placing, settler)
        self._batches = Batches(self._sender, self._bucket, self._known, settings.concurrency)
        self._probing = anyio.Lock()
        self._findings = _unasked(settings)

    def __repr__(self) -> str:
        return f"GCSObjectClient({self.identity!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client holds credentials and connections, and is not pickled")

    @property
    def features(self) -> ObjectFeatures:
        found = self._findings or remembered(self.identity) or TRUSTED
        return ObjectFeatures(
            conditional_put=found.put,
            conditional_delete=found.delete,
            conditional_copy=found.put,
            conditional_source=found.put,
            copy_reports_size=True,
            native_move=self._copies.moves_at_once,
            native_append_from=FROM_SIZE if found.put else None,
            page_size=PAGE,
            delete_batch=BATCH,
            max_key_bytes=_KEY_BYTES,
            max_object_size=_LARGEST_OBJECT,
            mtime_resolution=1e-3,
        )

    async def probe(self) -> ObjectFeatures:
        if self._findings is None:
            async with self._probing:
                if self._findings is None:
                    self._findings = remembered(self.identity) or await self._ask()
        return self.features

    async def start(self) -> None:
        """Connect, and look whether the bucket answers: one listing of one key below the prefix.

        Raises:
            PermissionDeniedError: no credentials, or forbidden, or clock skew.
            UnavailableError: no such bucket, or the store cannot be reached.
            UnsupportedError: the event loop is not asyncio's.
        """
        running_loop()
        self._probing = anyio.Lock()
        try:
            await self._connections.open()
            if self._settings.check_bucket:
                await check_bucket(self._sender, self._bucket, self._settings.prefix)
            if self._settings.probe_at_start:
                await self.probe()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._connections.aclose()
            raise

    async def aclose(self) -> None:
        await self._connections.aclose()

    async def head(self, key: str) -> ObjectInfo:
        return await self._downloads.head(key)

    async def get(self, key: str, options: GetOptions = GET) -> ObjectBody:
        return await self._downloads.get(key, options)

    async def put(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        self._check_free(key)
        target = Target(key, options.condition, options.media_type)
        return self._known.remember(await self._uploads.put(target, body))

    async def append(self, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        self._check_free(key)
        return self._known.remember(await self._appends.append(key, body, options))

    async def delete(self, key: str, options: KeyDeleteOptions = DELETE_KEY) -> None:
        await delete(self._sender, self._bucket, key, options.condition, self._known.version(key))

    async def delete_many(self, keys: Sequence[str]) -> tuple[DeleteFailure, ...]:
        return await self._batches.delete(keys)

    async def copy(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        self._check_free(dst)
        return self._known.remember(await self._copies.copy(src, dst, options))

    async def move(self, src: str, dst: str, options: CopyOptions = COPY) -> ObjectInfo:
        self._check_free(dst)
        return self._known.remember(await self._copies.move(src, dst, options))

    async def list(self, prefix: str, options: ListOptions = LIST) -> AsyncGenerator[ObjectPage, None]:
        async with aclosing(pages(self._sender, self._bucket, self._known, prefix, options)) as found:
            async for page in found:
                yield _without(page, self._hidden)

    async def sweep(self, older_than: float) -> int:
        """Remove what killed appends left that is older than so many seconds; how many."""
        return await self._appends.sweep(older_than)

    def _check_free(self, key: str) -> None:
        """Refuse a name that is never listed, and swept."""
        if key.startswith(self._hidden):
            raise InvalidPathError("this name is kept for what this provider stores for a moment")

    async def _ask(self) -> Findings:
        found = await Probe(self._sender, self._bucket, self._settings.prefix).run()
        remember(self.identity, found)
        if not found.put:
            _log.warning("the server of gs://%s does not refuse stale writes", self._settings.bucket)
        return found


def _unasked(settings: Settings) -> Findings | None:
    match settings.conditional_write:
        case "atomic":
            return TRUSTED
        case "none":
            return DISTRUSTED
        case _:
            return TRUSTED if settings.is_google and not settings.probe_at_start else None


def _without(page: ObjectPage, hidden: tuple[str, ...]) -> ObjectPage:
    if not any(info.key.startswith(hidden) for info in page.objects) and not set(hidden) & set(page.prefixes):
        return page
    return ObjectPage(
        tuple(info for info in page.objects if not info.key.startswith(hidden)),
        tuple(prefix for prefix in page.prefixes if prefix not in hidden),
        page.more,
    )
