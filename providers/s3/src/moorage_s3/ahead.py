"""One request sent before its answer is wanted."""

from __future__ import annotations

import asyncio

import anyio

from moorage_s3.sending import Answer, Request, Sender


class Ahead:
    """Sends the requests of a sequence, each at the latest when its answer is wanted.

    Belongs to the task that uses it, except for closing.
    """

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._sent: asyncio.Task[Answer] | None = None

    async def send(self, request: Request) -> None:
        """Send the next request now; on a free connection it is written when this returns."""
        self._sent = asyncio.create_task(self._sender.send(request))
        await asyncio.sleep(0)

    async def answer(self, request: Request) -> Answer:
        """The answer to this request, which is the one that was sent before, if one was."""
        if self._sent is None:
            return await self._sender.send(request)
        answer = await asyncio.shield(self._sent)
        self._sent = None
        return answer

    async def aclose(self) -> None:
        """Give up what is under way.

        Where nothing is, nothing is awaited: a loop that ends has ended all tasks, and closes all generators at once,
        of which none can be closed while another one does so.
        """
        sent, self._sent = self._sent, None
        if sent is None:
            return
        if sent.done():
            if not sent.cancelled():
                sent.exception()  # taken, or it would be reported as never looked at
            return
        sent.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(sent, return_exceptions=True)
