"""What the specification says of each file tool, with its exact defaults. ``# better:`` marks where the reference goes
wrong.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from moorage import Filesystem, MemoryFilesystem, ObjectStoreProvider
from moorage.objects import MemoryObjectClient
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, ToolResult, Workspace
from moorage_workspace.offering import built_in_tools

pytestmark = pytest.mark.anyio

FILES = WORKSPACE_TOOLS.FILESYSTEM
SHELL = WORKSPACE_TOOLS.SANDBOX
MIB = 1024 * 1024
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
async def files() -> Filesystem:
    return MemoryFilesystem()


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with Workspace(filesystem=LocalFilesystem(tmp_path)) as workspace:
        yield workspace


async def call(files: Filesystem | Workspace, key: str, **arguments: Any) -> ToolResult:
    workspace = files if isinstance(files, Workspace) else Workspace(filesystem=files)
    return await workspace.call_tool(key, arguments)


async def shown(files: Filesystem | Workspace, key: str, **arguments: Any) -> str:
    result = await call(files, key, **arguments)
    assert result.ok, result.text
    return result.text


def code(result: ToolResult) -> str:
    assert result.error is not None, result.text
    return result.error.code


# Inputs

INPUTS: Mapping[str, Mapping[str, object]] = {
    FILES.READ_FILE: {"path": ..., "offset": None, "limit": None, "show_line_numbers": True, "encoding": None},
    FILES.WRITE_FILE: {"path": ..., "content": ..., "overwrite": True},
    FILES.EDIT_FILE: {"path": ..., "old_string": ..., "new_string": ..., "replace_all": False},
    # a depth that is not given is 2, or as deep as a pattern leads
    FILES.LIST_FILES: {"path": ".", "max_depth": None, "show_hidden": False, "dirs_only": False}
    | {"exclude": None, "extension": None, "pattern": None, "respect_gitignore": True},
    FILES.DELETE: {"path": ..., "recursive": False},
    FILES.FILE_STAT: {"path": ...},
    FILES.MKDIR: {"path": ..., "recursive": True},
    FILES.GREP: {"pattern": ..., "path": ".", "glob": None, "context_lines": 0, "max_count": None}
    | {"case_sensitive": True, "include_hidden": False},
    FILES.MOVE: {"source": ..., "destination": ..., "overwrite": False},
    FILES.COPY: {"source": ..., "destination": ..., "overwrite": False, "recursive": False},
    SHELL.EXECUTE_COMMAND: {"command": ..., "timeout": None, "cwd": None, "tail": 200, "background": False},
    SHELL.GET_PROCESS_OUTPUT: {"pid": ..., "tail": 200, "wait": False},
    SHELL.KILL_PROCESS: {"pid": ...},
}


def test_the_inputs_and_their_defaults() -> None:
    assert {
        tool.key: {
            name: ... if field.is_required() else field.default for name, field in tool.arguments.model_fields.items()
        }
        for tool in built_in_tools()
    } == INPUTS


def test_the_options_and_their_defaults() -> None:
    tools = {tool.key: tool for tool in built_in_tools()}
    assert tools[FILES.READ_FILE].options == {
        "media_types": ["image/png", "image/jpeg", "image/webp", "application/pdf"],
        "max_media_bytes": 10 * MIB,
    }
    assert tools[FILES.WRITE_FILE].options == {"max_write_bytes": None}
    assert "background_processes" in tools[SHELL.EXECUTE_COMMAND].options
    assert {tool.max_output_tokens for key, tool in tools.items() if key != FILES.LIST_FILES} == {2_000}
    assert tools[FILES.LIST_FILES].max_output_tokens == 1_000


async def test_each_tool_has_a_structured_result_beside_the_text(files: Filesystem) -> None:
    results = [
        await call(files, FILES.WRITE_FILE, path="/d/a", content="one\n"),
        await call(files, FILES.READ_FILE, path="/d/a"),
        await call(files, FILES.EDIT_FILE, path="/d/a", old_string="one", new_string="two"),
        await call(files, FILES.MKDIR, path="/e"),
        await call(files, FILES.COPY, source="/d/a", destination="/e/a"),
        await call(files, FILES.MOVE, source="/e/a", destination="/e/b"),
        await call(files, FILES.LIST_FILES),
        await call(files, FILES.FILE_STAT, path="/e/b"),
        await call(files, FILES.GREP, pattern="two"),
        await call(files, FILES.DELETE, path="/e/b"),
    ]
    assert {result.tool for result in results} == {
        key for key in INPUTS if not key.endswith(("command", "process"))
    } - {SHELL.GET_PROCESS_OUTPUT}
    for result in results:
        assert result.ok, result.text
        assert json.loads(json.dumps(result.structured)) == result.structured != {}


# read_file


async def test_read_file_has_a_header_and_numbered_lines(files: Filesystem) -> None:
    await files.write_text("/a", "".join(f"line {number}\n" for number in range(1, 13)))
    size = (await files.stat("/a")).size
    assert await shown(files, FILES.READ_FILE, path="a", offset=9, limit=2) == (
        f"/a (lines 9-10 of 12, {size} bytes)\n     9→line 9\n    10→line 10"
    )
    whole = await shown(files, FILES.READ_FILE, path="a", show_line_numbers=False)
    assert whole == f"/a ({size} bytes)\n" + "\n".join(f"line {number}" for number in range(1, 13))
    assert code(await call(files, FILES.READ_FILE, path="a", offset=0)) == "invalid_arguments"


@pytest.mark.parametrize("encoding", ["utf-8", "utf8", "base64", "hex", "binary"])
async def test_read_file_shows_bytes_in_the_encoding_that_was_asked_for(files: Filesystem, encoding: str) -> None:
    await files.write_bytes("/a", b"caf\xc3\xa9")
    body = (await shown(files, FILES.READ_FILE, path="/a", encoding=encoding)).partition("\n")[2]
    expected = {"base64": base64.b64encode(b"caf\xc3\xa9").decode(), "hex": "636166c3a9", "binary": "cafÃ©"}
    assert expected.get(encoding, "     1→café") in body


async def test_media_up_to_10_mib_come_by_their_content(files: Filesystem) -> None:
    await files.write_bytes("/most.txt", PNG.ljust(10 * MIB, b"\0"))
    await files.write_bytes("/more.png", PNG.ljust(10 * MIB + 1, b"\0"))
    await files.write_bytes("/a.gif", b"GIF89a\0")
    most = await call(files, FILES.READ_FILE, path="/most.txt")
    assert [(part.media_type, len(part.data)) for part in most.media] == [("image/png", 10 * MIB)]
    for path in ("/more.png", "/a.gif"):
        result = await call(files, FILES.READ_FILE, path=path)
        assert (result.ok, result.media, result.structured["shown"]) == (True, (), False)
        assert len(result.text) < 400
    for encoding, comes in (("utf-8", True), ("hex", False), ("base64", False), ("binary", False)):
        asked = await call(files, FILES.READ_FILE, path="/most.txt", encoding=encoding, limit=8)
        assert bool(asked.media) is comes, encoding


@pytest.mark.parametrize(("wanted", "comes"), [(["image/*"], True), (["image/png"], False), ("image/gif".__eq__, True)])
async def test_which_media_come_is_a_list_or_a_function_or_off(files: Filesystem, wanted: Any, comes: bool) -> None:
    await files.write_bytes("/a", b"GIF89a\0")
    for media_types, expected in ((wanted, comes), (False, False)):
        workspace = Workspace(filesystem=files, tools={FILES.READ_FILE: {"media_types": media_types}})
        assert bool((await workspace.call_tool(FILES.READ_FILE, {"path": "/a"})).media) is expected


async def test_text_that_is_not_utf8_is_named_and_returned_only_on_request(files: Filesystem) -> None:
    await files.write_bytes("/bom", b"\xef\xbb\xbfone\n")
    await files.write_bytes("/wide", "grüße\n".encode("utf-16"))
    assert "     1→one" in await shown(files, FILES.READ_FILE, path="/bom")
    refused = await shown(files, FILES.READ_FILE, path="/wide")
    assert "UTF-16" in refused.upper()
    assert "\ufffd" not in refused
    assert "fffe" in await shown(files, FILES.READ_FILE, path="/wide", encoding="hex")


# write_file, delete, mkdir, file_stat, move, copy


async def test_write_file_makes_parents_and_has_no_cap_unless_given(files: Filesystem) -> None:
    content = "x" * (3 * MIB)
    assert (await call(files, FILES.WRITE_FILE, path="/a/b/c", content=content)).ok
    assert code(await call(files, FILES.WRITE_FILE, path="/a/b/c", content="", overwrite=False)) == "exists"
    capped = Workspace(filesystem=files, tools={FILES.WRITE_FILE: {"max_write_bytes": 262_144}})
    for size, ok in ((262_144, True), (262_145, False)):
        result = await capped.call_tool(FILES.WRITE_FILE, {"path": "/sized", "content": "x" * size})
        assert result.ok is ok
        assert ok or code(result) == "too_large"


async def test_delete_refuses_root_mount_points_and_what_is_above_them() -> None:
    # better: the reference empties the mount, or all of them
    one, other = MemoryFilesystem(), MemoryFilesystem()
    for filesystem in (one, other):
        await filesystem.write_text("/kept", "x")
    async with Workspace(mounts={"/a/b/one": one, "/other": other}) as workspace:
        for path in ("/", ".", "/a", "/a/b", "/a/b/one", "/other"):
            result = await call(workspace, FILES.DELETE, path=path, recursive=True)
            assert not result.ok, path
        assert (await one.exists("/kept"), await other.exists("/kept")) == (True, True)
        assert (await call(workspace, FILES.DELETE, path="/other/kept")).ok


async def test_delete_takes_of_a_link_only_the_link(disk: Workspace, tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "kept").write_text("x")
    (tmp_path / "link").symlink_to("directory")
    assert code(await call(disk, FILES.DELETE, path="/directory")) == "not_empty"
    assert (await call(disk, FILES.DELETE, path="/link", recursive=True)).ok
    assert [path.name for path in tmp_path.rglob("*")] == ["directory", "kept"]


async def test_mkdir_makes_parents_and_an_existing_directory_is_fine(files: Filesystem) -> None:
    assert (await call(files, FILES.MKDIR, path="/a/b/c")).structured["made"] is True
    assert (await call(files, FILES.MKDIR, path="/a/b/c")).structured["made"] is False
    assert not (await call(files, FILES.MKDIR, path="/x/y", recursive=False)).ok


async def test_file_stat_tells_type_size_and_time_and_that_nothing_is_there(files: Filesystem) -> None:
    await files.write_text("/a", "12345")
    result = await call(files, FILES.FILE_STAT, path="/a")
    assert (result.structured["type"], result.structured["size"]) == ("file", 5)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", str(result.structured["modified"]))
    missing = await call(files, FILES.FILE_STAT, path="/b")
    assert (missing.ok, missing.structured) == (True, {"path": "/b", "exists": False})


@pytest.mark.parametrize("key", [FILES.MOVE, FILES.COPY])
async def test_move_and_copy_overwrite_only_when_told_to(files: Filesystem, key: str) -> None:
    await files.write_text("/a", "new")
    await files.write_text("/b", "old")
    assert code(await call(files, key, source="/a", destination="/b")) == "exists"
    assert await files.read_text("/b") == "old"
    assert (await call(files, key, source="/a", destination="/b", overwrite=True)).ok
    assert (await files.read_text("/b"), await files.exists("/a")) == ("new", key == FILES.COPY)


# list_files


async def test_list_files_is_a_tree_of_two_levels(disk: Workspace, tmp_path: Path) -> None:
    for path in ("z/deep/er/x", "z/b.txt", "a.txt", ".hidden"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / "link").symlink_to("z")
    assert await shown(disk, FILES.LIST_FILES) == (
        ".\n\tz\n\t\tdeep\n\t\tb.txt\n\ta.txt\n\tlink -> z\n\n2 directories, 3 files (truncated at depth 2)"
    )
    assert (await shown(disk, FILES.LIST_FILES, max_depth=4)).endswith("\n\n3 directories, 4 files")


async def test_list_files_shows_1000_entries_and_counts_the_rest(files: Filesystem) -> None:
    for number in range(1_002):
        await files.write_text(f"/{number:04}", "")
    workspace = Workspace(filesystem=files, tools={FILES.LIST_FILES: {"max_output_tokens": 100_000}})
    listed = await shown(workspace, FILES.LIST_FILES)
    assert listed.count("\n\t") == 1_000
    assert "\n… 2 more; narrow it" in listed
    assert listed.endswith("\n\n0 directories, 1002 files")


async def test_without_a_depth_a_pattern_is_followed_as_deep_as_it_leads(files: Filesystem) -> None:
    for path in ("/top.py", "/a/b/c/d/deep.py", "/a/b/three.py"):
        await files.write_text(path, "")
    found = {
        "**/*.py": ["deep.py", "three.py", "top.py"],
        "a/b/*.py": ["three.py"],
        "a/{b/c/d,x}/*.py": ["deep.py"],
        "*.py": ["top.py"],
    }
    for pattern, names in found.items():
        listed = await shown(files, FILES.LIST_FILES, pattern=pattern)
        assert [line.strip() for line in listed.splitlines() if line.endswith(".py")] == names, pattern
        given = await shown(files, FILES.LIST_FILES, pattern=pattern, max_depth=2)
        assert ("deep.py" in given, "truncated at depth 2" in given) == (False, True)
    coding = Workspace(filesystem=files, tools={"profile": "coding"})
    everything = await coding.call_tool("glob", {"pattern": "**/*.py", "max_depth": None})
    assert everything.text.endswith("4 directories, 3 files")


@pytest.mark.parametrize("kind", ["memory", "objects", "local", "mounts"])
async def test_a_missing_gitignore_or_a_root_that_is_no_mount_is_no_error(kind: str, tmp_path: Path) -> None:
    # better: the reference fails where it looks for a .gitignore that is not there
    grounds: Mapping[str, Mapping[str, Any]] = {
        "memory": {"filesystem": MemoryFilesystem()},
        "objects": {"filesystem": Filesystem(ObjectStoreProvider(MemoryObjectClient()))},
        "local": {"filesystem": LocalFilesystem(tmp_path)},
        "mounts": {"mounts": {"/one/two": MemoryFilesystem(), "/three": MemoryFilesystem()}},
    }
    async with Workspace(**grounds[kind]) as workspace:
        assert (await call(workspace, FILES.WRITE_FILE, path="/three/a.py", content="hit\n")).ok
        assert "a.py" in await shown(workspace, FILES.LIST_FILES)
        assert "/three/a.py:1:1: hit" in await shown(workspace, FILES.GREP, pattern="hit")


async def test_gitignore_files_hold_below_their_directory_and_within_their_mount() -> None:
    one, other = MemoryFilesystem(), MemoryFilesystem()
    for filesystem in (one, other):
        for path in ("/a.log", "/sub/b.tmp", "/.git/config"):
            await filesystem.write_text(path, "hit\n")
    await one.write_text("/.gitignore", "*.log\n")
    await one.write_text("/sub/.gitignore", "*.tmp\n")
    workspace = Workspace(mounts={"/one": one, "/other": other})
    hidden = await shown(workspace, FILES.LIST_FILES, max_depth=9, show_hidden=True)
    assert (hidden.count("a.log"), hidden.count("b.tmp"), hidden.count("config")) == (1, 1, 0)
    found = await shown(workspace, FILES.GREP, pattern="hit", include_hidden=True)
    assert re.findall(r"^/\S+?(?=:)", found, re.MULTILINE) == ["/other/a.log", "/other/sub/b.tmp"]
    every = await shown(workspace, FILES.LIST_FILES, max_depth=9, respect_gitignore=False)
    assert (every.count("a.log"), every.count("b.tmp"), every.count("config")) == (2, 2, 0)


# grep


async def test_grep_has_a_summary_then_lines_then_context(files: Filesystem) -> None:
    await files.write_text("/a.txt", "zero\none hit\ntwo\nthree\nfour\nfive\nsix HIT\n")
    await files.write_bytes("/b.txt", b"hit\0")
    assert await shown(files, FILES.GREP, pattern="hit") == (
        "1 match in 1 file (skipped: 1 binary)\n---\n/a.txt:2:5: one hit"
    )
    context = await shown(files, FILES.GREP, pattern="hit", context_lines=1, case_sensitive=False, path="/a.txt")
    assert context == (
        "2 matches in 1 file\n---\n/a.txt:1- zero\n/a.txt:2:5: one hit\n/a.txt:3- two\n--\n"
        "/a.txt:6- five\n/a.txt:7:5: six HIT"
    )


async def test_grep_stops_at_1000_matches_and_cuts_lines_at_500_characters(files: Filesystem) -> None:
    await files.write_text("/many", "hit\n" * 1_001)
    await files.write_text("/long", f"{'x' * 5_000}needle{'y' * 5_000}\n")
    result = await call(files, FILES.GREP, pattern="hit")
    assert (result.structured["matches"], result.structured["stopped"]) == (1_000, True)
    exact = await call(files, FILES.GREP, pattern="hit", max_count=1_000)
    assert exact.structured["matches"] == 1_000
    line = (await shown(files, FILES.GREP, pattern="needle")).splitlines()[-1]
    assert line.startswith("/long:1:5001: ")
    assert "needle" in line
    assert 450 < sum(line.count(mark) for mark in "xyneedl") <= 520


async def test_grep_takes_a_literal_path_before_a_glob(files: Filesystem) -> None:
    await files.write_text("/a*.txt", "hit\n")
    await files.write_text("/ab.txt", "hit\n")
    assert "/ab.txt" not in await shown(files, FILES.GREP, pattern="hit", path="/a*.txt")
    assert "/ab.txt" in await shown(files, FILES.GREP, pattern="hit", path="/?b.txt")


async def test_grep_stops_a_pattern_that_would_blow_up(files: Filesystem) -> None:
    await files.write_text("/a", "a" * 64 + "!\n")
    workspace = Workspace(filesystem=files, tools={FILES.GREP: {"pattern_timeout": 0.5}})
    result = await workspace.call_tool(FILES.GREP, {"pattern": r"(a|a)*\1$"})
    assert code(result) == "pattern"
