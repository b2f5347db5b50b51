"""The reference system's published packages, in a Node process of their own."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from scripts.benches.stores.works import Cost, Place, Work

PACKAGES: Final = {"s3": "@mastra/s3", "gcs": "@mastra/gcs"}
_PROGRAM: Final = Path(__file__).with_name("reference.mjs")
_LINE: Final = 1 << 16


class NodeError(Exception):
    """It did not start, or failed at its work; the message says how."""


def find_node(modules: Path) -> str | None:
    """Node as installed beside the packages, else the system's."""
    beside = modules / "node_modules" / "node" / "bin" / "node"
    return str(beside) if beside.exists() else shutil.which("node")


def version_of(modules: Path, package: str) -> str | None:
    """The installed version of a package; ``None``: it is not there."""
    try:
        described: dict[str, Any] = json.loads((modules / "node_modules" / package / "package.json").read_text())
    except OSError:
        return None
    return str(described["version"])


@dataclass(frozen=True, slots=True)
class Reference:
    """A running Node process."""

    name: str
    process: Process
    lines: BufferedByteReceiveStream

    async def do(self, work: Work) -> Cost:
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(asdict(work)).encode() + b"\n")
        answer = await self.receive()
        return Cost(answer["seconds"], answer["cpu"], answer["found"])

    async def receive(self) -> dict[str, Any]:
        """The next line.

        Raises:
            NodeError: it tells of a failure, or none comes.
        """
        try:
            answer: dict[str, Any] = json.loads(await self.lines.receive_until(b"\n", _LINE))
        except (anyio.EndOfStream, anyio.IncompleteRead):
            raise NodeError(f"{self.name} ended") from None
        if "failure" in answer:
            raise NodeError(f"{self.name}: {answer['failure']}")
        return answer


@asynccontextmanager
async def running_reference(node: str, modules: Path, kind: str, place: Place) -> AsyncGenerator[Reference]:
    options: dict[str, object] = {"bucket": place.bucket, "endpoint": place.endpoint_url}
    if kind == "s3":
        options |= {"region": "us-east-1", "accessKeyId": place.key, "secretAccessKey": place.secret}
        options |= {"forcePathStyle": True}
    else:
        options |= {"projectId": "bench"}
    command = [node, str(_PROGRAM), str(modules), PACKAGES[kind], json.dumps(options)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        reference = Reference(PACKAGES[kind], process, BufferedByteReceiveStream(process.stdout))
        try:
            await reference.receive()
            yield reference
        finally:
            with suppress(ProcessLookupError):
                process.kill()
