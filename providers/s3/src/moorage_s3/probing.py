"""Finding out which conditions a store enforces, without writing anything where it does."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import anyio

from moorage import MoorageError, PermissionDeniedError
from moorage_s3.copying import source_header
from moorage_s3.dialect import Dialect
from moorage_s3.documents import complete_request, parse, text
from moorage_s3.listed_pages import listed_page
from moorage_s3.multipart import Multipart
from moorage_s3.sending import Answer, Request, Sender
from moorage_s3.uninterrupted import finish

PROBE_NAME: Final = ".moorage-probe-"
"""How the names of keys begin that a probe asks about; there is nothing under them where the store is honest."""

_BOGUS: Final = '"00000000000000000000000000000000"'
_REMEMBERED: Final = 1024
_LARGEST_SOURCE: Final = 1 << 20
_SOURCES: Final = 20
_CONFLICTS: Final = 8


@dataclass(frozen=True, slots=True)
class Findings:
    """What a store enforces.

    Attributes:
        put: a put with a stale ``If-Match`` is refused.
        multipart: so is the completion of an upload.
        delete: so is a delete.
        exists: a delete with ``If-Match: *`` tells that the key is free.
        copy: a copy onto a destination that does not match is refused; ``None``: there was nothing to copy.
        source: so is a copy of a source that does not match.
        absent: a create-only put of a key that exists is refused; ``None``: not seen yet, since that takes an object.
    """

    put: bool
    multipart: bool = False
    delete: bool = False
    exists: bool = False
    copy: bool | None = None
    source: bool | None = None
    absent: bool | None = None


TRUSTED: Final = Findings(put=True, multipart=True, delete=True, exists=True, copy=True, source=True, absent=True)
DISTRUSTED: Final = Findings(put=False)

_found: OrderedDict[tuple[str, ...], Findings] = OrderedDict()


def remembered(identity: tuple[str, ...]) -> Findings | None:
    """What was found out in this process with the same credentials at the same place."""
    return _found.get(identity)


def remember(identity: tuple[str, ...], findings: Findings) -> None:
    """Keep for clients that come later."""
    _found[identity] = findings
    _found.move_to_end(identity)
    while len(_found) > _REMEMBERED:
        _found.popitem(last=False)


class Probe:
    """One look at a store, below one prefix; ``new_object`` is what each request must say that makes an object.

    A bucket may refuse those that do not, e.g. without encryption, before it judges their condition.
    """

    def __init__(self, sender: Sender, prefix: str, new_object: Mapping[str, str]) -> None:
        self._sender = sender
        self._prefix = prefix
        self._new_object = new_object
        self._multipart = Multipart(sender, Dialect())

    async def run(self, sample: str | None) -> Findings:
        """Every question is about a random key that nobody has: a refusal changes nothing, and whatever a store that
        does not refuse has written is deleted again. ``sample`` is a key to copy from; without one, some small object
        below the prefix is.

        Raises:
            MoorageError: the store could not be asked; nothing is found out.
        """
        if not await self._puts():
            return DISTRUSTED
        answers: dict[str, bool | None] = {}

        async def ask(name: str, question: Callable[[], Awaitable[bool | None]]) -> None:
            try:
                answers[name] = await question()
            except MoorageError:
                answers[name] = None

        source = sample or await self._small_object()
        async with anyio.create_task_group() as group:
            group.start_soon(ask, "multipart", self._completes)
            group.start_soon(ask, "delete", lambda: self._deletes(_BOGUS))
            group.start_soon(ask, "exists", lambda: self._deletes("*"))
            group.start_soon(ask, "copy", lambda: self._copies(source, "if-match"))
            group.start_soon(ask, "source", lambda: self._copies(source, "x-amz-copy-source-if-match"))
        return Findings(
            put=True,
            multipart=answers["multipart"] is True,
            delete=answers["delete"] is True,
            exists=answers["exists"] is True,
            copy=answers["copy"],
            source=answers["source"],
        )

    async def run_copies(self, findings: Findings, sample: str) -> Findings:
        """What was left open, now that there is something to copy."""
        copy = await self._copies(sample, "if-match")
        return replace(findings, copy=copy, source=await self._copies(sample, "x-amz-copy-source-if-match"))

    async def _puts(self) -> bool:
        key = self._free_key()
        request = Request("PUT", key, headers={**self._new_object, "if-match": _BOGUS})
        answer = await self._careful(key, request)
        for attempt in range(1, _CONFLICTS):
            if answer.refusal is None or answer.refusal.status != 409:
                break
            await anyio.sleep(0.05 * attempt)
            answer = await self._careful(key, request)
        refused = _is_refused(answer)
        if refused is None:
            error = answer.error()
            if isinstance(error, PermissionDeniedError):
                error.message = f"{error.message} (asking whether the store enforces conditions on writes)"
                error.args = (error.message,)
            raise error
        return refused

    async def _completes(self) -> bool | None:
        key = self._free_key()
        begun = await self._sender.send(Request("POST", key, {"uploads": ""}, self._new_object))
        if not begun.is_success:
            return None
        upload_id = text(parse(begun.body), "UploadId")
        try:
            query = {"partNumber": "1", "uploadId": upload_id}
            part = await self._sender.send(Request("PUT", key, query, body=b"x"))
            if not part.is_success:
                return None
            body = complete_request([(part.headers.get("ETag", ""), "")])
            request = Request("POST", key, {"uploadId": upload_id}, {"if-match": _BOGUS}, body)
            return _is_refused(await self._careful(key, request))
        finally:
            await self._multipart.undo(key, upload_id)

    async def _deletes(self, etag: str) -> bool | None:
        key = self._free_key()
        answer = await self._sender.send(Request("DELETE", key, headers={"if-match": etag}))
        if answer.is_success:
            await self._clean(key, answer)
            return False
        if answer.refusal is None or answer.refusal.status not in (404, 412):
            return None
        if answer.refusal.status == 412 or etag == "*":
            return True
        plain = await self._sender.send(Request("DELETE", key))  # a store that always says 404 has judged nothing
        await self._clean(key, plain)
        return plain.is_success

    async def _copies(self, source: str | None, condition: str) -> bool | None:
        if source is None:
            return None
        key = self._free_key()
        copied = source_header(self._sender.place, source)
        headers = {**self._new_object, "x-amz-copy-source": copied, condition: _BOGUS}
        answer = await self._careful(key, Request("PUT", key, headers=headers))
        if answer.is_success:
            return False
        return True if answer.refusal is not None and answer.refusal.status == 412 else None

    async def _small_object(self) -> str | None:
        query = {"list-type": "2", "encoding-type": "url", "prefix": self._prefix, "max-keys": str(_SOURCES)}
        answer = await self._sender.send(Request("GET", "", query))
        if not answer.is_success:
            return None
        found = listed_page(answer.body).read().objects
        return next((info.key for info in found if info.size is not None and info.size <= _LARGEST_SOURCE), None)

    def _free_key(self) -> str:
        return f"{self._prefix}{PROBE_NAME}{secrets.token_hex(16)}"

    async def _careful(self, key: str, request: Request) -> Answer:
        """Send, and delete what a store wrote that should not have; in spite of cancellation."""

        async def ask() -> Answer:
            answer = await self._sender.send(request)
            if answer.is_success or answer.lost:
                await self._clean(key, answer)
            return answer

        asked = await finish(ask)
        if asked.cancelled is not None:
            raise asked.cancelled
        return asked.result()

    async def _clean(self, key: str, answer: Answer) -> None:
        """Delete the object, or the version or delete marker that took its place in a bucket that keeps versions."""
        version = answer.headers.get("x-amz-version-id", "")
        query = {"versionId": version} if version not in ("", "null") else {}
        if answer.headers.get("x-amz-delete-marker") == "true" or answer.refusal is None or answer.lost:
            await self._sender.send(Request("DELETE", key, query))


def _is_refused(answer: Answer) -> bool | None:
    """Whether the condition was judged; ``None``: something else happened."""
    if answer.is_success:
        return False
    if answer.refusal is None:
        return None
    is_missing = answer.refusal.status == 404 and answer.refusal.code in ("", "NoSuchKey")
    return True if answer.refusal.status == 412 or is_missing else None
