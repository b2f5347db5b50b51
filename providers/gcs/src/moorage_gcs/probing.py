"""Whether a server that is not Google's really refuses stale writes: some emulators ignore generations."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio

from moorage import MoorageError
from moorage.objects import Matches, PreconditionFailed
from moorage_gcs.deleting import delete
from moorage_gcs.objects import Bucket, KnownTimes
from moorage_gcs.placing import Placing
from moorage_gcs.sending import Request, Sender
from moorage_gcs.settling import Settler
from moorage_gcs.uninterrupted import cleared
from moorage_gcs.uploading import Target, Uploads
from moorage_gcs.write_marks import WriteMarks

PROBE_NAME: Final = ".moorage-probe-"
"""How the names of objects begin that a probe asks about; there is nothing under them where the server is honest."""
_BOGUS: Final = "1"
_SMALL: Final = 1 << 18
"""The smallest chunk of an upload in chunks."""
_REMEMBERED: Final = 1024


@dataclass(frozen=True, slots=True)
class Findings:
    """What a server enforces: on a put of any size, and on a delete."""

    put: bool
    delete: bool


TRUSTED: Final = Findings(put=True, delete=True)
DISTRUSTED: Final = Findings(put=False, delete=False)

_found: OrderedDict[str, Findings] = OrderedDict()


def remembered(identity: str) -> Findings | None:
    """What was found out in this process at the same place."""
    return _found.get(identity)


def remember(identity: str, findings: Findings) -> None:
    """Keep for clients that come later."""
    _found[identity] = findings
    _found.move_to_end(identity)
    while len(_found) > _REMEMBERED:
        _found.popitem(last=False)


class Probe:
    """One look at a server, below one prefix: each question is about a random name that nobody has.

    A refusal changes nothing; what a server wrote that does not refuse is deleted again.
    """

    def __init__(self, sender: Sender, bucket: Bucket, prefix: str) -> None:
        self._sender = sender
        self._bucket = bucket
        self._uploads = Uploads(sender, bucket, Placing(), Settler(sender, bucket, WriteMarks(), KnownTimes()), _SMALL)
        self._prefix = prefix

    async def run(self) -> Findings:
        """Raises MoorageError where the server could not be asked; nothing is found out then."""
        answers: dict[str, bool | None] = {}
        errors: list[MoorageError] = []

        async def ask(name: str, question: Callable[[], Awaitable[bool | None]]) -> None:
            try:
                answers[name] = await question()
            except MoorageError as error:
                errors.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "small", partial(self._refuses, 0))
            group.start_soon(ask, "large", partial(self._refuses, _SMALL + 1))
            group.start_soon(ask, "delete", self._refuses_delete)
        if errors:
            raise errors[0]
        put = answers["small"] is True and answers["large"] is True
        return Findings(put, put and answers["delete"] is not False)

    async def _refuses(self, size: int) -> bool:
        key = self._free_key()
        clean = partial(delete, self._sender, self._bucket, key, None)
        try:
            await self._uploads.put(Target(key, Matches(_BOGUS)), bytes(size))
        except PreconditionFailed:
            return True
        except BaseException:
            await cleared(clean)
            raise
        await cleared(clean)
        return False

    async def _refuses_delete(self) -> bool | None:
        path = self._bucket.object(self._free_key())
        answer = await self._sender.send(Request("DELETE", path, {"ifGenerationMatch": _BOGUS}))
        if answer.is_missing:
            return None  # may have looked at the condition, may not
        return answer.is_unmet

    def _free_key(self) -> str:
        return f"{self._prefix}{PROBE_NAME}{secrets.token_hex(16)}"
