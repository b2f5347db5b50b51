"""One event a call, whatever becomes of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from moorage import MoorageError
from moorage_workspace.audit import AuditEvent, Outcome, emit
from moorage_workspace.errors import code_of

if TYPE_CHECKING:
    from moorage_workspace.session import Session

_LONGEST_GOODBYE: Final = 2.0
"""Seconds that the sinks get while the call is being cancelled."""


@dataclass(slots=True)
class Trail:
    """What the event will say, as far as the call has come; a name that is no tool's is a model's text."""

    tool: str = "unknown"
    action: str = "unknown"
    approved: bool | None = None
    acting: bool = False


@asynccontextmanager
async def audited(session: Session) -> AsyncGenerator[Trail]:
    """Emit the event of one call when the block ends; its errors pass through."""
    clock = session.workspace.clock
    began = clock.now()
    trail = Trail()
    outcome, code = Outcome.CANCELLED, None
    try:
        yield trail
        outcome = Outcome.OK
    except Exception as error:
        outcome = Outcome.FAILED if trail.acting else Outcome.REFUSED
        code = code_of(error) if isinstance(error, MoorageError) else "internal"
        raise
    finally:
        if session.workspace.audit:
            event = AuditEvent(
                tool=trail.tool,
                action=trail.action,
                approved=trail.approved,
                outcome=outcome,
                error_code=code,
                duration=clock.now() - began,
            )
            with anyio.move_on_after(_LONGEST_GOODBYE, shield=outcome is Outcome.CANCELLED):
                await emit(session.workspace.audit, event)
