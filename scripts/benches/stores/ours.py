"""Moorage, by the methods of the user's class."""

from __future__ import annotations

from scripts.benches.stores.works import Calls

from moorage import Filesystem


def calls_of(filesystem: Filesystem) -> Calls:
    async def put(key: str, content: bytes) -> int:
        await filesystem.write_bytes(key, content)
        return 1

    async def get(key: str) -> int:
        return len(await filesystem.read_bytes(key))

    async def head(key: str) -> int:
        return (await filesystem.stat(key)).size

    async def list_tree(prefix: str) -> int:
        return sum(entry.is_file for entry in await filesystem.list_dir(prefix, recursive=True))

    async def delete_tree(prefix: str) -> int:
        await filesystem.remove_dir(prefix, recursive=True)
        return 0

    async def copy_tree(source: str, destination: str) -> int:
        await filesystem.copy(source, destination, recursive=True)
        return 0

    return Calls(put, get, head, list_tree, delete_tree, copy_tree)
