"""scripts/demo --s3 and --gcs: every claim holds on these servers, and a difference is seen, said and returned."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest
from scripts.demo import main
from scripts.demonstration.bucket_run import BUCKET_STEPS, demonstrate_store

from moorage import Body, ReadOnly, Stat, StoragePath, WriteOptions
from moorage.objects import PUT, ObjectInfo, PutOptions
from moorage.provider import WRITE
from moorage_gcs.client import GCSObjectClient

STDLIB = Path(sysconfig.get_paths()["stdlib"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small part of the standard library."""
    for package in ("json", "email"):
        shutil.copytree(STDLIB / package, tmp_path / package)
    return tmp_path


def refuted(output: str) -> list[str]:
    """The claims of the printed table that do not hold."""
    lines = output.split("-  --\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return [line.split("  ")[0] for line in lines if line.endswith("  NO")]


@pytest.mark.parametrize("store", ["s3", "gcs"])
def test_holds(store: str, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = demonstrate_store(store, source)
    printed = capsys.readouterr().out
    assert (status, refuted(printed)) == (0, []), printed
    assert [line for line in printed.splitlines() if line.startswith(tuple("123456789"))] == [
        f"{number}. {title}" for number, (title, _) in enumerate(BUCKET_STEPS, 1)
    ]
    assert "all 24 claims hold" in printed


@pytest.mark.slow
@pytest.mark.parametrize("store", ["s3", "gcs"])
def test_holds_on_the_standard_library(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--{store}"]) == 0, capsys.readouterr().out


def test_sees_a_store_that_garbles_and_ignores_conditions(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put = GCSObjectClient.put

    async def careless(self: GCSObjectClient, key: str, body: Body, options: PutOptions = PUT) -> ObjectInfo:
        if key.endswith("decoder.py"):
            body = (body if isinstance(body, bytes) else b"".join([chunk async for chunk in body]))[:-1] + b"?"
        return await put(self, key, body, PutOptions(None, options.media_type))

    monkeypatch.setattr(GCSObjectClient, "put", careless)
    assert demonstrate_store("gcs", source) == 1
    wrong = refuted(capsys.readouterr().out)
    assert "byte for byte" in wrong
    assert "of two writers one wins" in wrong
    assert "what somebody else changed is not overwritten" in wrong


def test_sees_that_read_only_is_not(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def let_through(self: ReadOnly, path: StoragePath, body: Body, options: WriteOptions = WRITE) -> Stat:
        return await self.inner.write(path, body, options)

    monkeypatch.setattr(ReadOnly, "write", let_through)
    assert demonstrate_store("gcs", source) == 1
    wrong = refuted(capsys.readouterr().out)
    assert wrong == ["the read-only mount refuses every change", "and is as it was"]
