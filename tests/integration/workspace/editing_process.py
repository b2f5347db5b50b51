"""Ten agents of one process, who edit shared files; prints what they were told had succeeded.

``python editing_process.py NAME ROUNDS local DIRECTORY`` or ``… s3 ENDPOINT BUCKET``
"""

from __future__ import annotations

import json
import random
import sys

import anyio

from moorage import Filesystem
from moorage_local import LocalFilesystem
from moorage_s3 import S3Filesystem
from moorage_workspace import Session, Workspace

AGENTS = 10
FILES = 3


def storage(kind: str, *place: str) -> Filesystem:
    if kind == "local":
        return LocalFilesystem(place[0])
    endpoint, bucket = place
    return S3Filesystem(bucket, endpoint_url=endpoint, access_key_id="testkey", secret_access_key="testsecret")


async def edit(session: Session, path: str, mark: str) -> bool:
    """Add a line below the first, as a model would: read, then edit, and again when told that it is stale."""
    for _ in range(200):
        await session.call_tool("workspace_read_file", {"path": path})
        arguments = {"path": path, "old_string": "begin\n", "new_string": f"begin\n{mark}\n"}
        result = await session.call_tool("workspace_edit_file", arguments)
        if result.error is None:
            return True
        if result.error.code not in {"stale", "conflict", "lock_timeout"}:
            raise AssertionError(result.text)
    return False


async def main(name: str, rounds: int, place: list[str]) -> None:
    succeeded: list[tuple[str, str]] = []
    workspace = Workspace(filesystem=storage(*place))

    async def agent(number: int) -> None:
        chooser = random.Random(f"{name} {number}")
        async with workspace.session() as session:
            for turn in range(rounds):
                path, mark = f"/shared-{chooser.randrange(FILES)}.txt", f"{name} {number} {turn}"
                if await edit(session, path, mark):
                    succeeded.append((path, mark))

    async with workspace, anyio.create_task_group() as group:
        for number in range(AGENTS):
            group.start_soon(agent, number)
    print(json.dumps(succeeded))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), sys.argv[3:])
