"""Requests without a condition that leave no mark: a second one would undo what others made after the first."""

from __future__ import annotations

from moorage.objects import ABSENT, Condition, Matches, ObjectInfo
from moorage_s3.answers import object_info
from moorage_s3.looking import is_unanswered, look
from moorage_s3.precedence import Precedence
from moorage_s3.sending import Answer, Sender
from moorage_s3.write_marks import WriteMarks


class UnmarkedWatch:
    """Looks at the key before such a request is repeated.

    Attributes:
        found: what is there; ``None``: nothing, or that is not known.
        base: what is there was there before the request, which had no effect yet: on that it may be made again.
    """

    def __init__(self, sender: Sender, write_marks: WriteMarks, key: str, *, guards: bool) -> None:
        self._sender = sender
        self._write_marks = write_marks
        self._precedence = Precedence(write_marks)
        self._key = key
        self._guards = guards
        self.found: ObjectInfo | None = None
        self.base: Condition | None = None

    @property
    def is_free(self) -> bool:
        """There is nothing."""
        return self.base is ABSENT

    async def is_settled(self, answer: Answer) -> bool:
        """Whether the request is not to be just repeated, once its answer was lost."""
        if not answer.lost:
            return False
        self.found = self.base = None
        seen = await look(self._sender, self._key)
        if is_unanswered(seen):
            return True
        if seen.is_success:
            self.found = object_info(self._key, seen.headers)
            if not self._precedence.is_certain(self._key, seen.headers):
                return True
            self._write_marks.saw(self._key, seen.headers)
            self.base = Matches(self.found.version)
        elif seen.refusal is not None and seen.refusal.status == 404:
            self.base = ABSENT
        return self.base is not None and self._guards
