"""Calls of single tools: the steps of the pipeline that concern a tool itself, with errors as they are raised."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from moorage import Filesystem, StoragePath
from moorage_workspace.reads import ReadRecord, ReadTracker
from moorage_workspace.redaction import Gate
from moorage_workspace.results import Plan, ToolResult
from moorage_workspace.session import Session
from moorage_workspace.tokens import TokenCounter, default_counter
from moorage_workspace.tools.call import ToolCall
from moorage_workspace.tools.finishing import finished
from moorage_workspace.tools.freshness import check_basis, check_reads
from moorage_workspace.tools.tool import Tool


@dataclass
class Agent:
    """Somebody who calls tools on one filesystem, and remembers what was read."""

    fs: Filesystem
    gate: Gate = field(default_factory=Gate)
    read_required: bool = False
    reads: ReadTracker = field(default_factory=ReadTracker)
    count: TokenCounter = field(default_factory=default_counter)

    async def call(
        self, tool: Tool[Any], *, max_output_tokens: int = 2_000, options: Any = None, **arguments: Any
    ) -> ToolResult:
        call = self.at(tool, max_output_tokens, options)
        given = tool.arguments.model_validate(arguments)
        await check_reads(call, tool.targets(call, given), replaces=tool.replaces)
        plan = await tool.plan(call, given)
        await check_basis(call, plan)
        return await finished(call, await tool.act(call, given, plan))

    async def plan(self, tool: Tool[Any], **arguments: Any) -> Plan:
        call = self.at(tool)
        return await tool.plan(call, tool.arguments.model_validate(arguments))

    async def record(self, path: str) -> ReadRecord | None:
        return self.reads.get((await self.fs.provider.lineage(StoragePath.parse(path)))[0])

    def at(self, tool: Tool[Any], max_output_tokens: int = 2_000, options: Any = None) -> ToolCall:
        workspace = SimpleNamespace(path_policy="virtual", count_tokens=self.count)
        return ToolCall(
            session=cast("Session", SimpleNamespace(reads=self.reads, workspace=workspace)),
            name=tool.key,
            key=tool.key,
            options={**tool.options, **(options or {})},
            max_output_tokens=max_output_tokens,
            read_required=self.read_required,
            gate=self.gate,
            filesystem=self.fs,
            sandbox=None,
        )
