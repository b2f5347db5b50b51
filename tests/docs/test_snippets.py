"""Every snippet of the README and of docs/ does what the page says."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import anyio
import pytest
from tests.docs.blocks import PAGES, ROOT, Block, blocks_of
from tests.docs.running import LANGUAGES, NOT_RUN, Page, check_output, commands_of
from tests.servers.gcs import LocalGCSServer
from tests.servers.s3_server import S3Server

STORES = ROOT / "docs" / "stores.md"
"""What speaks of S3 and GCS: on asyncio only, with an environment that points at servers of these kinds."""


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory whose modules can be imported, and are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, module in list(sys.modules.items()):
        monkeypatch.setitem(sys.modules, name, module)
    return tmp_path


@pytest.fixture
def servers(seaweedfs: S3Server, own_gcs_server: LocalGCSServer) -> dict[str, str]:
    """The environment of somebody who has a bucket ``my-bucket`` on S3 and on GCS."""
    seaweedfs.make_bucket("my-bucket")
    own_gcs_server.make_bucket("my-bucket")
    return {
        "AWS_ENDPOINT_URL": seaweedfs.endpoint_url,
        "AWS_ACCESS_KEY_ID": seaweedfs.access_key_id,
        "AWS_SECRET_ACCESS_KEY": seaweedfs.secret_access_key,
        "AWS_REGION": seaweedfs.region,
        "STORAGE_EMULATOR_HOST": own_gcs_server.endpoint_url,
    }


def test_snippets_of_stores_do_what_the_page_says(
    servers: dict[str, str], at: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in servers.items():
        monkeypatch.setenv(name, value)
    Page(at, servers).run(blocks_of(STORES), shell=True)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("page", [page for page in PAGES if page != STORES], ids=named)
def test_snippets_do_what_the_page_says(page: Path, backend: str, at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = blocks_of(page)
    if backend == "trio" and not any(block.language == "python" for block in blocks):
        return
    monkeypatch.setattr(anyio, "run", partial(anyio.run, backend=backend))
    before = set(sys.modules)
    try:
        Page(at).run(blocks, shell=backend == "asyncio")
    finally:
        for name in set(sys.modules) - before:
            if at in Path(getattr(sys.modules[name], "__file__", None) or "/").parents:
                del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_snippet_is_skipped_silently(page: Path) -> None:
    blocks = blocks_of(page)
    for before, block in zip([None, *blocks], blocks, strict=False):
        assert block.language in LANGUAGES, f"{block.where}: {block.language!r} is no known kind of block"
        if block.language == "sh":
            assert all(line.startswith(NOT_RUN) for line in block.text.splitlines()), f"{block.where}: run this"
        if block.language == "toml":
            assert block.file, f"{block.where}: name the file in the first line"
        if block.language == "text":
            assert before is not None, f"{block.where}: output of nothing"
            assert before.language == "python", f"{block.where}: output of nothing"
        if block.file:
            module = block.file.removesuffix(".py").replace("/", ".")
            rest = "".join(later.text for later in blocks if later.line > block.line)
            known = block.file in ("moorage.toml", "pyproject.toml") or block.file in rest or module in rest
            assert known, f"{block.where}: nothing uses this file"


@pytest.mark.parametrize(
    ("expected", "printed"),
    [("one\n", ""), ("", "one\n"), ("one ... three\n", "one two\n"), ("...\nlast\n", "first\n"), ("a\n", "a\nb\n")],
)
def test_a_wrong_output_is_seen(expected: str, printed: str) -> None:
    block = Block(ROOT / "README.md", 1, "text", expected)
    with pytest.raises(AssertionError, match=r"README.md:1"):
        check_output(block, expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("", ""),
        ("...\n", ""),
        ("...\n", "a\nb\n"),
        ("one ... three\n", "one two three\n"),
        ("a\n...\nc\n", "a\nb\nc\n"),
    ],
)
def test_dots_stand_for_anything(expected: str, printed: str) -> None:
    check_output(Block(ROOT / "README.md", 1, "text", expected), expected, printed)


def test_a_failing_snippet_is_seen(at: Path) -> None:
    failing = Block(ROOT / "README.md", 7, "python", "import anyio\nawait anyio.sleep(0)\nassert False\n")
    with pytest.raises(AssertionError) as caught:
        Page(at).run([failing], shell=False)
    assert caught.traceback[-1].lineno == 8  # counted from 0
    command = Block(ROOT / "README.md", 1, "console", "$ false\n")
    with pytest.raises(AssertionError, match="ended with 1"):
        Page(at).run([command], shell=True)


def test_commands_and_outputs_are_told_apart() -> None:
    block = Block(ROOT / "README.md", 1, "console", "$ one\n1\n$ two\n$ three\n3\n4\n")
    assert list(commands_of(block)) == [("one", "1\n"), ("two", ""), ("three", "3\n4\n")]
