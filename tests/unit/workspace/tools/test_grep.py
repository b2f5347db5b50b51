"""grep."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from moorage import Filesystem, Limits, MemoryFilesystem, ObjectStoreProvider, ReadOnly, UnavailableError
from moorage.objects import MemoryObjectClient
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, ToolResult, Workspace
from moorage_workspace.redaction import Gate

pytestmark = pytest.mark.anyio

GREP = WORKSPACE_TOOLS.FILESYSTEM.GREP


@pytest.fixture(params=["memory", "ripgrep", "python", "listed", "objects"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """Every way in which files are found."""
    ways: dict[str, Any] = {
        "memory": MemoryFilesystem,
        "ripgrep": lambda: LocalFilesystem(str(tmp_path)),
        "python": lambda: LocalFilesystem(str(tmp_path)),
        "listed": lambda: Filesystem(Limits(LocalFilesystem(str(tmp_path)).provider, max_file_size=LARGE)),
        "objects": lambda: Filesystem(ObjectStoreProvider(MemoryObjectClient())),
    }
    files: Filesystem = ways[request.param]()
    return Workspace(filesystem=files, tools={GREP: {"ripgrep": request.param == "ripgrep"}})


LARGE = 1 << 30
"""A limit through which no path of the host is given."""


def filesystem(workspace: Workspace) -> Filesystem:
    assert workspace.filesystem is not None
    return workspace.filesystem


async def fill(workspace: Workspace, **contents: str | bytes) -> None:
    for name, content in contents.items():
        data = content.encode() if isinstance(content, str) else content
        await filesystem(workspace).write_bytes(name, data)


async def grep(workspace: Workspace, pattern: str, **arguments: Any) -> ToolResult:
    return await workspace.call_tool(GREP, {"pattern": pattern, **arguments})


async def test_matches_come_with_path_line_and_column(workspace: Workspace) -> None:
    await fill(workspace, **{"a.txt": "one\nthe two\n", "sub/b.txt": "two two\r\nthree", "c.txt": "none"})
    result = await grep(workspace, "tw.")
    assert result.text == "2 matches in 2 files\n---\n/a.txt:2:5: the two\n/sub/b.txt:1:1: two two"
    assert result.structured == {"matches": 2, "files": 2, "stopped": False, "skipped": {}}


async def test_no_match(workspace: Workspace) -> None:
    await fill(workspace, a="x")
    assert (await grep(workspace, "y")).text == "0 matches in 0 files"


async def test_context_and_hunks(workspace: Workspace) -> None:
    await fill(workspace, a="1\n2\nhit 3\n4\nhit 5\n6\n7\n8\nhit 9\n", b="hit\n")
    result = await grep(workspace, "hit", context_lines=1)
    assert result.text.split("\n")[2:] == [
        "/a:2- 2",
        "/a:3:1: hit 3",
        "/a:4- 4",
        "/a:5:1: hit 5",
        "/a:6- 6",
        "--",
        "/a:8- 8",
        "/a:9:1: hit 9",
        "--",
        "/b:1:1: hit",
    ]


async def test_the_pattern_is_of_single_lines(workspace: Workspace) -> None:
    await fill(workspace, a="foo\r\nbar\nfoobar", b="x\x0cy\x85z\u2028w\n")
    assert (await grep(workspace, "^foo$")).text.endswith("/a:1:1: foo")
    assert (await grep(workspace, r"foo\s+bar")).structured["matches"] == 0
    assert (await grep(workspace, "^x.y.z.w$")).text.endswith("/b:1:1: x\x0cy\x85z\u2028w")


async def test_columns_are_characters(workspace: Workspace) -> None:
    await fill(workspace, a="äöü€😀 hit", b="\ufeffhit\n")
    assert (await grep(workspace, "hit")).text.split("\n")[2:] == ["/a:1:7: äöü€😀 hit", "/b:1:1: hit"]
    assert (await grep(workspace, "^hit")).text.split("\n")[2:] == ["/b:1:1: hit"]


async def test_case(workspace: Workspace) -> None:
    await fill(workspace, a="Straße\nKELVIN \u212a\n")
    assert (await grep(workspace, "straße")).structured["matches"] == 0
    assert (await grep(workspace, "STRAßE", case_sensitive=False)).structured["matches"] == 1
    assert (await grep(workspace, "kelvin k", case_sensitive=False)).structured["matches"] == 1


async def test_what_is_no_text_is_counted_and_not_shown(workspace: Workspace) -> None:
    await fill(
        workspace,
        good="hit",
        binary=b"hit\0hit",
        late=b"hit\n" * 20_000 + b"\0",
        latin="h\xe9 hit".encode("latin-1"),
        cut=b"hit \xe2\x82",
        utf16="hit".encode("utf-16"),
    )
    result = await grep(workspace, "hit")
    assert result.text == "1 match in 1 file (skipped: 2 binary, 3 not UTF-8)\n---\n/good:1:1: hit"
    nothing = await grep(workspace, "nothing")
    assert nothing.text == "0 matches in 0 files (skipped: 2 binary, 3 not UTF-8)"


async def test_hidden_files_ignored_files_and_git(workspace: Workspace) -> None:
    await fill(
        workspace,
        **{
            ".gitignore": "*.log\n!keep.log\n/out/\n[b]racket\n",
            "sub/.gitignore": "own\n!deep.log",
            **dict.fromkeys(
                (
                    "a",
                    "a.log",
                    "keep.log",
                    "out/x",
                    "sub/out/x",
                    "sub/own",
                    "sub/deep.log",
                    ".env",
                    ".dir/x",
                    ".git/config",
                    "bracket",
                ),
                "hit",
            ),
        },
    )
    seen = await grep(workspace, "hit")
    assert [line.split(":")[0] for line in seen.text.split("\n")[2:]] == [
        "/a",
        "/keep.log",
        "/sub/deep.log",
        "/sub/out/x",
    ]
    hidden = await grep(workspace, "hit", include_hidden=True)
    assert [line.split(":")[0] for line in hidden.text.split("\n")[2:]] == [
        "/.dir/x",
        "/.env",
        "/a",
        "/keep.log",
        "/sub/deep.log",
        "/sub/out/x",
    ]
    below = await grep(workspace, "hit", path="sub")
    assert [line.split(":")[0] for line in below.text.split("\n")[2:]] == ["/sub/deep.log", "/sub/out/x"]


async def test_a_file_named_outright_is_searched_whatever_its_name(workspace: Workspace) -> None:
    await fill(workspace, **{".gitignore": ".env", ".env": "hit"})
    assert (await grep(workspace, "hit", path=".env")).text.endswith("/.env:1:1: hit")


async def test_globs(workspace: Workspace) -> None:
    await fill(workspace, **dict.fromkeys(("a.py", "b.ts", "src/c.py", "src/d/e.py", "src/d/f.tsx"), "hit"))

    async def found(**arguments: Any) -> list[str]:
        result = await grep(workspace, "hit", **arguments)
        return [line.split(":")[0] for line in result.text.split("\n")[2:]]

    assert await found(glob="*.py") == ["/a.py", "/src/c.py", "/src/d/e.py"]
    assert await found(glob="*.{ts,tsx}") == ["/b.ts", "/src/d/f.tsx"]
    assert await found(glob="src/*") == ["/src/c.py"]
    assert await found(path="src", glob="d/*.py") == ["/src/d/e.py"]


async def test_a_literal_path_comes_before_a_glob(workspace: Workspace) -> None:
    await fill(workspace, **{"[slug]/x": "hit", "s/x": "hit", "s/y": "hit"})
    assert (await grep(workspace, "hit", path="[slug]")).text.split("\n")[2:] == ["/[slug]/x:1:1: hit"]
    globbed = await grep(workspace, "hit", path="s/*")
    assert sorted(globbed.text.split("\n")[2:]) == ["/s/x:1:1: hit", "/s/y:1:1: hit"]
    assert (await grep(workspace, "hit", path="*/z")).text == "0 matches in 0 files"


async def test_max_count_is_of_each_file(workspace: Workspace) -> None:
    await fill(workspace, a="hit\n" * 5, b="hit\n" * 5)
    result = await grep(workspace, "hit", max_count=2)
    assert result.text.split("\n")[2:] == ["/a:1:1: hit", "/a:2:1: hit", "/b:1:1: hit", "/b:2:1: hit"]


async def test_a_thousand_matches_are_enough(workspace: Workspace) -> None:
    await fill(workspace, a="hit\n" * 600, b="hit\n" * 600, c="hit\n")
    result = await grep(workspace, "hit")
    assert result.text.startswith("1,000 matches in 2 files, stopped there: there are more")
    assert (result.structured["matches"], result.structured["stopped"]) == (1_000, True)
    exactly = await grep(workspace, "hit", max_count=500)
    assert (exactly.structured["matches"], exactly.structured["stopped"]) == (1_000, True)
    await filesystem(workspace).delete("c")
    just = await grep(workspace, "hit", max_count=500)
    assert (just.structured["matches"], just.structured["stopped"]) == (1_000, False)


async def test_a_long_line_is_cut_around_the_match(workspace: Workspace) -> None:
    await fill(workspace, a="x" * 3_000 + "hit" + "y" * 3_000, b="hit" + "y" * 600)
    first, second = (await grep(workspace, "hit")).text.split("\n")[2:]
    text = first.removeprefix("/a:1:3001: ")
    assert (len(text), "hit" in text, text[0], text[-1]) == (502, True, "…", "…")
    assert second == "/b:1:1: hit" + "y" * 497 + "…"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("(", "unterminated"), ("", "empty"), ("a**", "multiple repeat"), ("x" * 3_000, "characters")],
)
async def test_a_wrong_pattern_says_what_is_wrong(workspace: Workspace, pattern: str, said: str) -> None:
    result = await grep(workspace, pattern)
    assert result.error is not None
    assert result.error.code == "pattern"
    assert said in result.text


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(?:a|a)*$", r"(?<=x)(a*)*b"])
async def test_a_pattern_that_blows_up_is_stopped(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "a").write_text("x" + "a" * 60 + "!\n")
    tools = {GREP: {"pattern_timeout": 0.5, "ripgrep": False}}
    for files in (LocalFilesystem(str(tmp_path)), MemoryFilesystem()):
        await files.write_text("a", "x" + "a" * 60 + "!\n")
        result = await Workspace(filesystem=files, tools=tools).call_tool(GREP, {"pattern": pattern})
        assert result.error is not None
        assert result.error.code == "pattern"
        assert "more than 0.5 s" in result.text
    assert _workers_of_this_process() == []


def _workers_of_this_process() -> list[str]:
    done = subprocess.run(["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "searching.worker" in line or "rg " in line]


async def test_no_process_outlives_a_call(workspace: Workspace) -> None:
    await fill(workspace, a="hit")
    await grep(workspace, "(h+)it")
    assert _workers_of_this_process() == []


async def test_links_are_not_followed_and_special_files_never_opened(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("hit")
    (root / "real").write_text("hit")
    os.mkfifo(root / "pipe")
    for name, target in {"out": str(outside), "file": str(outside / "secret"), "in": "real", "loop": "loop"}.items():
        (root / name).symlink_to(target)
    for ripgrep in (True, False):
        workspace = Workspace(filesystem=LocalFilesystem(str(root)), tools={GREP: {"ripgrep": ripgrep}})
        assert (await grep(workspace, "hit")).text == "1 match in 1 file\n---\n/real:1:1: hit"
        assert (await grep(workspace, "hit", path="in")).text.endswith("/in:1:1: hit")
        codes = [(await grep(workspace, "hit", path=path)).error for path in ("pipe", "out", "loop", "../outside")]
        assert [error.code for error in codes if error] == ["not_regular", "path_escape", "link_loop", "invalid_path"]


async def test_no_configuration_and_no_host_path_gets_in_or_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").write_text("hit\n")
    (tmp_path / "root" / ".ignore").write_text("a")
    (tmp_path / ".gitignore").write_text("a")
    (tmp_path / "config").write_text("--invert-match\n--follow")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    result = await grep(Workspace(filesystem=LocalFilesystem(str(tmp_path / "root"))), "hit")
    assert result.text == "1 match in 1 file\n---\n/a:1:1: hit"
    missing = await grep(Workspace(filesystem=LocalFilesystem(str(tmp_path / "root"))), "hit", path="b")
    assert str(tmp_path) not in missing.text


async def test_a_pattern_is_never_an_option(workspace: Workspace) -> None:
    await fill(workspace, a="--files -e x\n")
    assert (await grep(workspace, "--files")).structured["matches"] == 1
    assert (await grep(workspace, "-e x")).structured["matches"] == 1


SECRET = "ghp_" + "a1B2" * 9
KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 20 + "-----END PRIVATE KEY-----\n"


async def test_secrets_are_masked_also_where_lines_are_picked_from_them(workspace: Workspace) -> None:
    await fill(workspace, a=f"token = {SECRET} hit\n", b=f"hit\n{KEY}hit\n")
    result = await grep(workspace, "hit", context_lines=3)
    assert SECRET not in result.text
    assert "MIIE" not in result.text
    assert result.structured["matches"] == 3


@pytest.mark.parametrize("pattern", ["ghp_a1", "ghp_.", "B2a1", "MIIEv", "^MII[A-Z]"])
async def test_a_pattern_cannot_find_out_a_secret(workspace: Workspace, pattern: str) -> None:
    await fill(workspace, a=f"x\ntoken {SECRET}\n", b=KEY)
    assert (await grep(workspace, pattern)).structured["matches"] == 0


HIDDEN = "h" + "x7K2" * 5


@pytest.mark.parametrize(
    "pattern",
    [
        r"^password = (?:h|\[\[redacted)",
        r"redacted|= h",
        r"^password = (?!h)",
        r"^password = (?:h|$)",
        r"= (?:h|\b)",
        r"= (?>h|)",
        r"(?m)= (?:h|$)",
        r"^password = h|^xx",
        r"^(?:Mh|$)",
    ],
)
async def test_what_matches_depends_on_nothing_hidden(workspace: Workspace, pattern: str) -> None:
    """The same with every secret, although only one of the two begins with what the pattern tries."""
    outcomes: list[Any] = []
    for letter in "hk":
        key = KEY.replace("MIIE", f"M{letter}IE")
        await fill(workspace, a=f"password = {letter}{HIDDEN[1:]}\nxx\n", b=key)
        everywhere = await grep(workspace, pattern, max_count=1)
        outcomes.append((everywhere.structured, (await grep(workspace, pattern, path="a")).structured))
    assert outcomes[0] == outcomes[1]


async def test_beside_a_secret_lines_are_found(workspace: Workspace) -> None:
    await fill(workspace, a=f"password = {HIDDEN} and more\n")
    for pattern in ("password", "password.*", "^password = ", r"\bpassword\b", "more$", "(?<=and )more"):
        assert (await grep(workspace, pattern)).structured["matches"] == 1, pattern
    assert (await grep(workspace, "redacted")).structured["matches"] == 0
    assert "/a:1:1: password" in (await grep(workspace, "pass")).text


async def test_a_name_is_held_against_a_glob_as_it_is_shown(workspace: Workspace) -> None:
    name = f"k-{SECRET}.txt"
    await fill(workspace, **{name: "hit"})
    for guess in ("k-ghp_a1*", "k-ghp_zz*"):
        assert (await grep(workspace, "hit", glob=guess)).structured["matches"] == 0
        assert (await grep(workspace, "hit", path=guess)).structured["matches"] == 0
    assert (await grep(workspace, "hit", glob="k-*.txt")).structured["matches"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"glob": "x" * 5_000},
        {"glob": "{a,b}" * 10 + "x" * 1_000},
        {"path": "{a,b}" * 10 + "x" * 1_000},
    ],
)
async def test_a_glob_has_bounds(workspace: Workspace, arguments: dict[str, str]) -> None:
    result = await grep(workspace, "x", **arguments)
    assert result.error is not None
    assert result.error.code == "invalid_arguments"


async def test_compiling_has_a_bound_and_stops_nothing_else(workspace: Workspace) -> None:
    assert workspace.filesystem is not None
    bounded = Workspace(filesystem=workspace.filesystem, tools={GREP: {"pattern_timeout": 0.5}})
    result = await grep(bounded, "[\x20-\uffff]" * 400, case_sensitive=False)
    assert result.error is not None
    assert result.error.code == "pattern"
    assert "more than 0.5 s" in result.text


async def test_what_is_long_is_redacted_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFilesystem()
    await files.write_text("a", f"token = {SECRET}\n" * 4_000)
    threads: set[int] = set()
    redact = Gate.redact

    def noted(gate: Gate, text: str) -> str:
        if len(text) > 128 * 1024:
            threads.add(threading.get_ident())
        return redact(gate, text)

    monkeypatch.setattr(Gate, "redact", noted)
    await grep(Workspace(filesystem=files), "token", max_count=1)
    assert threads
    assert threading.get_ident() not in threads


async def test_mounts_are_searched_one_by_one_and_a_failed_one_is_counted(tmp_path: Path) -> None:
    def refuse(context: object) -> Filesystem:
        raise UnavailableError("the store is away")

    memory, read_only = MemoryFilesystem(), MemoryFilesystem()
    await memory.write_text("x", "hit")
    await memory.write_text(".gitignore", "ignored")
    await memory.write_text("ignored", "hit")
    await read_only.write_text("y", "hit")
    await read_only.write_text("ignored", "hit")
    (tmp_path / "z").write_text("hit")
    workspace = Workspace(
        mounts={
            "/memory": memory,
            "/disk": LocalFilesystem(str(tmp_path)),
            "/bad": refuse,
            "/ro": Filesystem(ReadOnly(read_only.provider)),
            "/.hidden": memory,
        }
    )
    result = await grep(workspace, "hit")
    assert result.text == (
        "4 matches in 4 files (skipped: 1 unreadable)\n---\n"
        "/disk/z:1:1: hit\n/memory/x:1:1: hit\n/ro/ignored:1:1: hit\n/ro/y:1:1: hit"
    )
    assert (await grep(workspace, "hit", path="/disk")).text.endswith("/disk/z:1:1: hit")
    hidden = await grep(workspace, "hit", include_hidden=True)
    assert "/.hidden/x:1:1: hit" in hidden.text


async def test_a_mount_hides_what_the_disk_has_there(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "shadowed").write_text("hit")
    (tmp_path / "own").write_text("hit")
    inner = MemoryFilesystem()
    await inner.write_text("shown", "hit")
    workspace = Workspace(mounts={"/": LocalFilesystem(str(tmp_path)), "/inner": inner}, nested_mounts=True)
    result = await grep(workspace, "hit")
    assert result.text.split("\n")[2:] == ["/inner/shown:1:1: hit", "/own:1:1: hit"]


async def test_under_the_relative_policy_paths_are_as_they_may_be_written() -> None:
    memory = MemoryFilesystem()
    await memory.write_text("a/b", "hit")
    workspace = Workspace(filesystem=memory, path_policy="relative")
    assert (await grep(workspace, "hit")).text.endswith("\na/b:1:1: hit")


async def test_what_is_cut_is_said(workspace: Workspace) -> None:
    await fill(workspace, a="hit and some more words\n" * 900)
    result = await grep(workspace, "hit")
    shown = result.text.count("/a:")
    assert 0 < shown < 900
    assert result.text.startswith("900 matches in 1 file\n---\n")
    assert f"[{900 - shown} more lines left out" in result.text


async def test_nothing_there_names_what_is_near(workspace: Workspace) -> None:
    await fill(workspace, **{"notes.md": "x"})
    result = await grep(workspace, "x", path="note.md")
    assert result.error is not None
    assert result.error.code == "not_found"
    assert "/notes.md" in result.text
