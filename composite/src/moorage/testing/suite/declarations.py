"""What a provider says of itself."""

from __future__ import annotations

import re

from moorage import Capabilities, Provider, StoragePath
from moorage.testing.harness import Harness

PATHS = ("/", "/dir", "/dir/file", "/missing", "/dir/file/below")


class Declarations(Harness):
    async def test_the_scheme_is_a_short_name(self, opened: Provider) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9+.-]*", opened.scheme)

    async def test_no_mutating_primitive_is_declared_harmless(self, opened: Provider) -> None:
        assert opened.mutating >= Provider.mutating

    async def test_capabilities_are_told_for_any_path_and_make_sense(self, opened: Provider) -> None:
        await self.put("/dir/file")
        for path in PATHS:
            can = await opened.capabilities(StoragePath(path))
            assert isinstance(can, Capabilities)
            assert can.writable, "a provider that only reads is tested by ReadOnlyConformance"
            assert can.conditional_write in ("atomic", "guarded", "none")
            assert can.mtime_resolution > 0
            assert can.max_object_size is None or can.max_object_size > 0

    async def test_a_host_path_is_not_shown_by_accident(self, opened: Provider) -> None:
        can = await opened.capabilities(StoragePath("/"))
        if can.native_path is not None:
            assert can.native_path not in repr(can)
