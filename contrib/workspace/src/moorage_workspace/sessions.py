"""The sessions of a workspace: one for each context object that calls come with, and those that were opened."""

from __future__ import annotations

import logging
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from moorage import RequestContext
from moorage_workspace.approval import Approver
from moorage_workspace.checks import ARGUMENTS
from moorage_workspace.config import Hooks
from moorage_workspace.once import ByContext
from moorage_workspace.session import Session

if TYPE_CHECKING:
    from moorage_workspace.workspace import Workspace

Context = RequestContext | Mapping[str, object]
"""Who asks. What is remembered for a :class:`moorage.RequestContext` object lasts as long as the object; any other
mapping is a new one each time."""


def as_context(context: Context) -> RequestContext:
    """Raises: InvalidArgumentError, where it is no mapping."""
    if isinstance(context, RequestContext):
        return context
    return RequestContext(ARGUMENTS.mapping("context", context, "a mapping, such as RequestContext(tenant='acme')"))


class Sessions:
    """A session that nobody ends ends some time after its context is gone: when the next one is looked up."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._nobody = RequestContext()
        self._forgotten: list[Session] = []
        self._by_context = ByContext[Session](self._new, self._forgotten.append)
        self._open: weakref.WeakSet[Session] = weakref.WeakSet()

    @asynccontextmanager
    async def of(self, context: Context | None) -> AsyncGenerator[Session]:
        """The session of a context, which lives at least for the block; without a context, one for all."""
        asked = self._nobody if context is None else as_context(context)
        session = self._by_context.get(asked)
        while self._forgotten:
            await _end_quietly(self._forgotten.pop())
        yield session

    @asynccontextmanager
    async def opened(
        self, context: Context | None, approver: Approver | None, hooks: Hooks | None
    ) -> AsyncGenerator[Session]:
        """A session of its own, for the block."""
        asked = RequestContext() if context is None else as_context(context)
        session = Session(self._workspace, asked, approver=approver, hooks=hooks)
        self._open.add(session)
        try:
            yield session
        finally:
            self._open.discard(session)
            await session.aclose()

    async def end_all(self) -> None:
        """Raises: ExceptionGroup: the errors of those that failed; all were tried."""
        sessions = [*self._by_context, *self._open, *self._forgotten]
        self._by_context.clear()
        self._forgotten.clear()
        errors: list[Exception] = []
        for session in sessions:
            try:
                await session.aclose()
            except ExceptionGroup as group:
                errors += group.exceptions
        if errors:
            raise ExceptionGroup("sessions ended with errors", errors)

    def _new(self, context: RequestContext) -> Session:
        return Session(self._workspace, context)


async def _end_quietly(session: Session) -> None:
    """On behalf of somebody else, whom a failure is no business of."""
    try:
        await session.aclose()
    except ExceptionGroup:
        logging.getLogger(__name__).exception("a session whose context is gone ended with errors")
