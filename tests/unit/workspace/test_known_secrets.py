"""What file tools mask: also the secrets of a sandbox that a resolver chose, from when it was chosen."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.unit.workspace.toys import ToySandbox

from moorage import MemoryFilesystem, RequestContext
from moorage_workspace import WORKSPACE_TOOLS, Session, Workspace
from moorage_workspace.redaction import MASK

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
EXECUTE = WORKSPACE_TOOLS.SANDBOX.EXECUTE_COMMAND
SECRETS = {"a": "zxcvbnmQWERTY42", "b": "poiuytrASDFGH77"}


class Knowing(ToySandbox):
    """Has one secret."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._secret = secret

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self._secret,)


def choose(context: RequestContext) -> Knowing:
    return Knowing(SECRETS[str(context["tenant"])])


async def planted() -> MemoryFilesystem:
    files = MemoryFilesystem()
    await files.write_text("/f", "".join(f"{secret}\n" for secret in SECRETS.values()))
    for secret in SECRETS.values():
        await files.write_text(f"/d/n{secret}.txt", "x")
    return files


async def seen(session: Session) -> tuple[bool, bool]:
    """Which of the two secrets the tools show."""
    texts = [
        (await session.call_tool(FILES.READ_FILE, {"path": "/f"})).text,
        (await session.call_tool(FILES.LIST_FILES, {"path": "/d"})).text,
    ]
    a, b = ({secret in text for text in texts} for secret in SECRETS.values())
    assert len(a) == len(b) == 1
    return a.pop(), b.pop()


async def test_a_session_knows_the_secrets_of_its_sandbox_from_its_first_command() -> None:
    async with (
        Workspace(filesystem=await planted(), sandbox=choose) as workspace,
        workspace.session({"tenant": "a"}) as session,
        workspace.session({"tenant": "b"}) as other,
    ):
        assert await seen(session) == (True, True)
        assert (await session.call_tool(EXECUTE, {"command": "true"})).ok
        assert await seen(session) == (False, True)
        assert await seen(other) == (True, True)
        assert MASK in (await session.call_tool(FILES.READ_FILE, {"path": "/f"})).text


def tenant(context: Mapping[str, object]) -> str:
    return str(context["tenant"])


async def test_who_shares_a_sandbox_by_its_key_knows_its_secrets_too() -> None:
    async with Workspace(filesystem=await planted(), sandbox=choose, sandbox_cache_key=tenant) as workspace:
        async with workspace.session({"tenant": "a"}) as first:
            assert (await first.call_tool(EXECUTE, {"command": "true"})).ok
        async with workspace.session({"tenant": "a"}) as later, workspace.session({"tenant": "b"}) as other:
            assert await seen(later) == (False, True)
            assert await seen(other) == (True, True)


async def test_file_tools_choose_no_sandbox() -> None:
    def fails(context: RequestContext) -> Knowing:
        raise AssertionError("nobody asked for it")

    async with (
        Workspace(filesystem=await planted(), sandbox=fails, sandbox_cache_key=tenant) as workspace,
        workspace.session({"tenant": "a"}) as session,
        workspace.session() as without_key,
    ):
        assert await seen(session) == await seen(without_key) == (True, True)
