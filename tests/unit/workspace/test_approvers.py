"""An approver that is wrong approves nothing: the model learns nothing of why, and the application everything."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from moorage import MemoryFilesystem, MoorageError
from moorage_workspace import WORKSPACE_TOOLS, Approval, Workspace

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def at_once(request: object) -> Any:
    return Approval.once()


async def truth(request: object) -> Any:
    return True


async def nothing(request: object) -> Any:
    return None


async def the_class(request: object) -> Any:
    return Approval


async def a_no_as_text(request: object) -> Any:
    return Approval("no")  # type: ignore[arg-type]


async def raises(request: object) -> Any:
    raise RuntimeError("the queue at queue.internal is down")


async def raises_ours(request: object) -> Any:
    raise MoorageError("the queue at queue.internal is down")


async def raises_several(request: object) -> Any:
    async with anyio.create_task_group() as group:
        group.start_soon(raises, request)
        await anyio.sleep_forever()


def raises_at_once(request: object) -> Any:
    raise KeyError("queue.internal")


def takes_nothing() -> Any:
    return truth(None)


@pytest.mark.parametrize(
    ("approver", "logged"),
    [
        (at_once, "what the approver returns must be awaitable, as of a coroutine function, not Approval"),
        (truth, "the approver's answer must be an Approval, such as Approval.once(), not True"),
        (nothing, "not NoneType"),
        (the_class, "not the class Approval"),
        (a_no_as_text, "approved must be true or false, not 'no'"),
        (raises, "RuntimeError: the queue at queue.internal is down"),
        (raises_ours, "the queue at queue.internal is down"),
        (raises_several, "RuntimeError: the queue at queue.internal is down"),
        (raises_at_once, "KeyError: 'queue.internal'"),
        (takes_nothing, "TypeError"),
    ],
)
async def test_it_refuses_and_says_why_in_the_log_alone(
    approver: Any, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    files = MemoryFilesystem()
    workspace = Workspace(filesystem=files, approver=approver, tools={"require_approval": True})
    async with workspace, workspace.session() as session:
        result = await session.call_tool(FILES.WRITE_FILE, {"path": "/a", "content": "x"})
        assert list(session.rules) == []
        assert not await files.exists("/a")
    assert result.text == (
        "Error (approval_unavailable): this call needs an approval, and asking for it failed; nothing was done, do not "
        "try it again unless you are asked to"
    )
    (record,) = caplog.records
    assert record.name == "moorage.workspace"
    assert "Traceback" in caplog.text
    assert logged in caplog.text
