"""Objects with as many metadata as there may be: copied and appended to, with as much of a mark as has room."""

from __future__ import annotations

import random

import pytest
from tests.integration.gcs.support import meanwhile, opened, put_with_metadata
from tests.servers.faults import DropResponse, Rule
from tests.servers.gcs import LocalGCSServer
from tests.servers.gcs.objects import LARGEST_METADATA
from tests.servers.proxy import Proxy

from moorage import ConflictError, Filesystem
from moorage_gcs.appending import FROM_SIZE
from moorage_gcs.write_marks import _KEPT as KEPT
from moorage_gcs.write_marks import NAME, NOTHING, Mark

pytestmark = pytest.mark.anyio

COPIED = {0: 0, 39: 0, 70: 1, 100: 1, 200: 4, 600: KEPT, 1000: KEPT}
"""How much of a long chain fits into so many bytes."""
APPENDED = {0: (0, 0, 0), 39: (0, 0, 0), 70: (1, 1, 1), 100: (1, 2, 1), 200: (1, 2, 3)}
"""How much of a chain that grows does, of which the last generation is without a word."""


@pytest.fixture
def bucket(gcs_server: LocalGCSServer) -> str:
    return gcs_server.make_bucket()


def crowded(left: int) -> dict[str, str]:
    """Metadata, not all of them ASCII, that leave so many bytes."""
    own = {"ключ": "ä" * 100}
    taken = sum(len(text.encode()) for pair in own.items() for text in pair)
    return {**own, "z": "x" * (LARGEST_METADATA - left - taken - 1)}


def metadata(server: LocalGCSServer, bucket: str, key: str) -> tuple[dict[str, str], Mark]:
    """Those of the object, and the mark among them."""
    found = server.head(key, bucket=bucket)
    assert found is not None
    return {name: text for name, text in found["metadata"].items() if name != NAME}, Mark.of(found, key)


async def written_often(fs: Filesystem, path: str) -> str:
    """The version of a file with a chain as long as there are."""
    stat = await fs.write_bytes(path, b"0")
    for _ in range(KEPT + 2):
        stat = await fs.write_bytes(path, b"1", expected_version=stat.version or "")
    return stat.version or ""


@pytest.mark.parametrize(("left", "length"), COPIED.items())
async def test_a_copy_keeps_them_all(gcs_server: LocalGCSServer, bucket: str, left: int, length: int) -> None:
    put_with_metadata(gcs_server, bucket, "full", crowded(left))
    async with opened(gcs_server, bucket, name_checks=False) as fs:
        version = await written_often(fs, "/there")
        await fs.copy("/full", "/new", overwrite=False)
        kept, mark = metadata(gcs_server, bucket, "new")
        assert (kept, mark.oldest) == (crowded(left), NOTHING if length else "")
        await fs.copy("/full", "/there", expected_version=version)
        kept, mark = metadata(gcs_server, bucket, "there")
        assert (kept, len(mark.bases), bool(mark.word)) == (crowded(left), length, length > 0)
        assert [base.generation for base in mark.bases[:1]] == [version][:length]


@pytest.mark.parametrize(("left", "lengths"), APPENDED.items())
async def test_an_append_keeps_them_all(
    gcs_server: LocalGCSServer, bucket: str, left: int, lengths: tuple[int, ...]
) -> None:
    body = random.Random(1).randbytes(FROM_SIZE)
    put_with_metadata(gcs_server, bucket, "log", crowded(left), body)
    async with opened(gcs_server, bucket, name_checks=False) as fs:
        for length in lengths:
            await fs.append_bytes("/log", b"+")
            kept, mark = metadata(gcs_server, bucket, "log")
            assert (kept, len(mark.bases)) == (crowded(left), length)
        assert await fs.read_bytes("/log", FROM_SIZE - 1) == body[-1:] + b"+++"


async def test_without_a_mark_it_cannot_be_told(gcs_server: LocalGCSServer, gcs_proxy: Proxy, bucket: str) -> None:
    put_with_metadata(gcs_server, bucket, "full", crowded(0))

    async def nothing() -> None:
        gcs_server.put("other", b"x", bucket=bucket)

    async with opened(gcs_proxy, bucket, name_checks=False) as fs:
        gcs_proxy.add(Rule(DropResponse(), kind="rewrite", times=1))
        async with meanwhile(gcs_proxy, nothing):
            with pytest.raises(ConflictError) as raised:
                await fs.copy("/full", "/new", overwrite=False)
        assert not raised.value.retryable


async def test_the_mark_of_an_earlier_write_is_not_kept_as_the_own(gcs_server: LocalGCSServer, bucket: str) -> None:
    """Another program filled an object up that had one."""
    async with opened(gcs_server, bucket, name_checks=False) as fs:
        await fs.write_bytes("/log", bytes(FROM_SIZE))
        _, earlier = metadata(gcs_server, bucket, "log")
        room = LARGEST_METADATA - len(NAME) - len(str(earlier))
        gcs_server.request(
            "PATCH",
            f"/storage/v1/b/{bucket}/o/log",
            headers={"Content-Type": "application/json"},
            body=b'{"metadata": {"z": "%s"}}' % (b"x" * (room - 1)),
        )
        await fs.append_bytes("/log", b"+")
        kept, mark = metadata(gcs_server, bucket, "log")
        assert len(kept["z"]) == room - 1
        assert mark.word != earlier.word
