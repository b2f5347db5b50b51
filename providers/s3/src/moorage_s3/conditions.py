"""Conditions as headers, and refusals as the port's signal."""

from __future__ import annotations

from moorage import MoorageError
from moorage.objects import ABSENT, Condition, Matches, PreconditionFailed
from moorage_s3.answers import quoted_version
from moorage_s3.sending import Answer


def condition_headers(key: str, condition: Condition | None) -> dict[str, str]:
    """The headers that say it.

    Raises:
        PreconditionFailed: no object can have that version.
    """
    if condition is None:
        return {}
    if condition is ABSENT:
        return {"if-none-match": "*"}
    if isinstance(condition, Matches):
        return {"if-match": matching(key, condition.version)}
    return {"if-match": "*"}


def matching(key: str, version: str) -> str:
    """The ETag of a version.

    Raises:
        PreconditionFailed: no object can have that version.
    """
    quoted = quoted_version(version)
    if quoted is None:
        raise PreconditionFailed(key)
    return quoted


def is_unmet(answer: Answer, condition: Condition | None) -> bool:
    """Whether an answer says that the condition does not hold: 412, or 404 where something had to be there."""
    refused = answer.refusal
    if refused is None or condition is None:
        return False
    if refused.status == 412:
        return True
    return condition is not ABSENT and refused.status == 404 and refused.code in ("", "NoSuchKey")


def error_of(answer: Answer, key: str, condition: Condition | None) -> MoorageError | PreconditionFailed:
    """What an answer other than success means for a request with this condition."""
    if is_unmet(answer, condition):
        return PreconditionFailed(key, retried=answer.lost)
    return answer.error()
