"""One look at a key, before a request is repeated that could undo what others did since."""

from __future__ import annotations

from typing import Final

from moorage_s3.sending import Answer, Request, Sender

_LOOKS: Final = 4


async def look(sender: Sender, key: str) -> Answer:
    """The answer to HEAD, asked for longer than other requests are: without it nothing goes on."""
    answer = await sender.send(Request("HEAD", key))
    for _ in range(1, _LOOKS):
        if not is_unanswered(answer):
            break
        answer = await sender.send(Request("HEAD", key))
    return answer


def is_unanswered(answer: Answer) -> bool:
    """Whether the store did not say what is there; an identity that may not see it has an answer."""
    return not answer.is_success and (answer.refusal is None or answer.refusal.status not in (403, 404))
