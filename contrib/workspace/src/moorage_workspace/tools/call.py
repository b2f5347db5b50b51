"""What the functions of a tool get to work with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moorage import Filesystem, LinkLoopError, PathEscapeError, StoragePath
from moorage_workspace.errors import FileReadRequiredError, Refusal, SandboxUnsupportedError, ToolRefusedError
from moorage_workspace.tools.globs import check_length

if TYPE_CHECKING:
    from moorage_workspace.reads import Span
    from moorage_workspace.redaction import Gate
    from moorage_workspace.sandbox.port import Sandbox
    from moorage_workspace.session import Session


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of one tool in one session.

    Attributes:
        session: whose call it is; its ``reads`` are the records of what was read.
        name: the exposed name that was called.
        key: the tool's key.
        options: the tool's own options in force.
        max_output_tokens: the cap of its output.
        read_required: what is changed must have been read.
        gate: redacts, this session's secrets and host paths included.
        filesystem: ``None`` where none is configured.
        sandbox: ``None`` where none is configured.
        held: the identity of each path that the call has locked, as it was then.
        asks: the plan is for a question, so it holds the contents that somebody should see.
    """

    session: Session
    name: str
    key: str
    options: Mapping[str, object]
    max_output_tokens: int
    read_required: bool
    gate: Gate
    filesystem: Filesystem | None
    sandbox: Sandbox | None
    held: Mapping[StoragePath, str] = field(default_factory=dict[StoragePath, str])
    asks: bool = False

    @property
    def files(self) -> Filesystem:
        """The filesystem of a tool that is only offered with one."""
        if self.filesystem is None:
            raise ToolRefusedError("this workspace has no filesystem", refusal=Refusal.POLICY)
        return self.filesystem

    @property
    def shell(self) -> Sandbox:
        """The sandbox of a tool that is only offered with one."""
        if self.sandbox is None:
            raise SandboxUnsupportedError("this workspace has no sandbox")
        return self.sandbox

    def path(self, text: str) -> StoragePath:
        """The path that the model wrote, under the workspace's path policy.

        Raises:
            InvalidPathError: it is none (``..``, a control character, …).
            ToolRefusedError: it has more than 4,096 characters, as many as ``PATH_MAX`` allows on Linux; or the policy
                is ``relative`` and the path is absolute.
        """
        check_length("a path", text)
        if self.session.workspace.path_policy == "relative" and text.startswith("/"):
            raise ToolRefusedError(
                "absolute paths are refused here; write it relative to the workspace",
                refusal=Refusal.POLICY,
                path=text,
            )
        return StoragePath.parse(text)

    async def identity(self, path: StoragePath) -> str:
        """By what locks and read records know the object at ``path``, whichever way it is reached."""
        return (await self.place(path))[0]

    async def place(self, path: StoragePath) -> tuple[str, ...]:
        """The lineage of what is at ``path``; of a link that leads nowhere, its own."""
        try:
            return await self.lineage(path)
        except (PathEscapeError, LinkLoopError):  # it is still there, to be deleted or moved
            above = await self.lineage(path.parent)
            return (f"{above[0]}/{path.name}", *above)

    async def lineage(self, path: StoragePath) -> tuple[str, ...]:
        """The identity of the object at ``path``, then those of the directories that hold it; opens the filesystem."""
        await self.files.lifecycle.ensure()
        return await self.files.provider.lineage(path)

    async def held_identity(self, path: StoragePath) -> str:
        """The identity that the lock was taken by, for looking up records under it; where there is none, as it is now.

        A path that leads elsewhere meanwhile then has another version than the record, and is refused.
        """
        return self.held.get(path) or await self.identity(path)

    async def require_seen(self, path: StoragePath, spans: Iterable[Span]) -> None:
        """Where reading before writing is required, refuse to change bytes that the model has not seen.

        Raises:
            FileReadRequiredError: some are not among those that this session's record holds.
        """
        if not self.read_required:
            return
        record = self.session.reads.get(await self.held_identity(path))
        if record is None or not all(record.has_seen(start, end) for start, end in spans):
            raise FileReadRequiredError("read this part of the file first, it was not shown yet", path=str(path))

    def redact(self, text: str) -> str:
        """The text without secrets, as the gate at the end does it. Idempotent, and keeps the number of lines.

        For text that is numbered, prefixed or cut before it reaches the end of the pipeline.
        """
        return self.gate.redact(text)

    def tokens(self, text: str) -> int:
        """How many tokens a text counts as against ``max_output_tokens``."""
        return self.session.workspace.count_tokens(text)
