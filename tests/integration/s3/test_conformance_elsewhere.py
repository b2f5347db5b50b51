"""The conformance suite on SeaweedFS, and through a tree and wrappers."""

from __future__ import annotations

import pytest
from tests.integration.s3.support import PART
from tests.servers.s3_server import S3Server

from moorage import CompositeFilesystem, Limits, Prefix, Provider, StoragePath, Tracing
from moorage.testing import ProviderConformance
from moorage_s3 import S3Filesystem

STAYS = "SeaweedFS keeps the directory of a deleted object, and lists it"
RENAMES = "SeaweedFS takes a backslash for a slash"
DEPARTURES = {
    "test_odd_names_round_trip_and_stay_apart": RENAMES,
    "test_odd_names_are_directories_too": RENAMES,
    "test_an_odd_name_is_copied_moved_and_deleted_alone": RENAMES,
    "test_nothing_is_trimmed_folded_or_decoded": RENAMES,
    "test_a_directory_is_moved_whole": STAYS,
}
"""What the server, not the provider, does differently; each must fail, so that none is forgotten here."""


@pytest.mark.timeout(1200)
class OnSeaweedFS(ProviderConformance):
    keys, fan_out, examples, steps, cancellation_points = 1_200, 16, 3, 12, 8
    below = "in"

    @pytest.fixture(autouse=True)
    def depart(self, request: pytest.FixtureRequest) -> None:
        name = getattr(request.node, "originalname", request.node.name)
        if name in DEPARTURES:
            request.applymarker(pytest.mark.xfail(reason=DEPARTURES[name], strict=True))

    def bare(self, server: S3Server) -> Provider:
        self.server, self.bucket = server, server.make_bucket()
        who = server.access_key_id, server.secret_access_key
        return S3Filesystem(self.bucket, "in", None, server.endpoint_url, *who, part_size=PART).provider

    async def peek(self, path: StoragePath) -> bytes | None:
        return self.server.get(f"{self.below}{path}", bucket=self.bucket)

    async def poke(self, path: StoragePath, data: bytes) -> None:
        self.server.put(f"{self.below}{path}", data, bucket=self.bucket)

    async def leftovers(self) -> list[str]:
        return self.server.pending_uploads(bucket=self.bucket)


class TestSeaweedFS(OnSeaweedFS):
    @pytest.fixture
    def provider(self, seaweedfs: S3Server) -> Provider:
        return self.bare(seaweedfs)


@pytest.mark.slow
class TestWrapped(OnSeaweedFS):
    """Seen through a tree, alone in a directory of it, and through the wrappers."""

    larger = PART + 1
    reported_as = "s3"

    @pytest.fixture
    def slow(self) -> bool:
        """The long loops need no wrapper; the bare provider has them above."""
        return False

    @pytest.fixture(params=["tree", "limits", "tracing", "prefix"])
    def provider(self, seaweedfs: S3Server, request: pytest.FixtureRequest) -> Provider:
        bare = self.bare(seaweedfs)
        match request.param:
            case "limits":
                return Limits(bare, max_file_size=1 << 30, max_in_flight=32)
            case "tracing":
                return Tracing(bare)
            case "prefix":
                self.below = "in/some/where"
                return Prefix(bare, "/some/where")
            case _:
                return Prefix(CompositeFilesystem({"/deep/m": bare}).provider, "/deep/m")
