"""list_files."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moorage import Entry, Filesystem, MemoryFilesystem, ObjectStoreProvider, StoragePath, UnavailableError
from moorage.objects import MemoryObjectClient
from moorage_local import LocalFilesystem
from moorage_workspace import WORKSPACE_TOOLS, ToolResult, Workspace

pytestmark = pytest.mark.anyio

LIST = WORKSPACE_TOOLS.FILESYSTEM.LIST_FILES

TREE = (
    "README.md",
    "src/app.py",
    "src/lib/deep/x.py",
    "src/lib/y.ts",
    "src/.env",
    ".hidden/z",
    "docs/guide.md",
)


@pytest.fixture(params=["memory", "local", "objects"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    if request.param == "objects":
        return Filesystem(ObjectStoreProvider(MemoryObjectClient()))
    return MemoryFilesystem() if request.param == "memory" else LocalFilesystem(str(tmp_path))


async def fill(files: Filesystem, *paths: str) -> None:
    for path in paths:
        await files.write_text(path, "x")


async def listed(files: Filesystem, **arguments: Any) -> ToolResult:
    return await Workspace(filesystem=files).call_tool(LIST, arguments)


async def test_a_tree(files: Filesystem) -> None:
    await fill(files, *TREE)
    result = await listed(files)
    assert result.text == (
        ".\n\tdocs\n\t\tguide.md\n\tsrc\n\t\tlib\n\t\tapp.py\n\tREADME.md\n\n"
        "3 directories, 3 files (truncated at depth 2)"
    )
    assert result.structured == {"directories": 3, "files": 3, "truncated_at_depth": 2}


async def test_deeper_and_from_another_directory(files: Filesystem) -> None:
    await fill(files, *TREE)
    result = await listed(files, path="src", max_depth=9)
    assert result.text == ".\n\tlib\n\t\tdeep\n\t\t\tx.py\n\t\ty.ts\n\tapp.py\n\n2 directories, 3 files"
    one = await listed(files, max_depth=1)
    assert one.text == ".\n\tdocs\n\tsrc\n\tREADME.md\n\n2 directories, 1 file (truncated at depth 1)"


async def test_an_empty_directory(files: Filesystem) -> None:
    await files.make_dir("/empty")
    assert (await listed(files, path="/empty")).text == ".\n\n0 directories, 0 files"


async def test_hidden_entries_and_never_git(files: Filesystem) -> None:
    await fill(files, *TREE, ".git/config", "sub/.git")
    result = await listed(files, show_hidden=True)
    assert "\t.hidden\n\t\tz" in result.text
    assert "\t\t.env" in result.text
    assert "\n\tsub\n" in result.text
    assert ".git" not in result.text


async def test_directories_only(files: Filesystem) -> None:
    await fill(files, *TREE)
    result = await listed(files, dirs_only=True, max_depth=3)
    assert result.text == ".\n\tdocs\n\tsrc\n\t\tlib\n\t\t\tdeep\n\n4 directories, 0 files (truncated at depth 3)"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"extension": ".py"}, ".\n\tsrc\n\t\tlib\n\t\t\tdeep\n\t\t\t\tx.py\n\t\tapp.py\n\n3 directories, 2 files"),
        ({"extension": "ts"}, ".\n\tsrc\n\t\tlib\n\t\t\ty.ts\n\n2 directories, 1 file"),
        ({"pattern": "*.md"}, ".\n\tdocs\n\t\tguide.md\n\tREADME.md\n\n1 directory, 2 files"),
        ({"pattern": "src/*.py"}, ".\n\tsrc\n\t\tapp.py\n\n1 directory, 1 file"),
        (
            {"pattern": ["docs/**", "*.{ts,tsx}"]},
            ".\n\tdocs\n\t\tguide.md\n\tsrc\n\t\tlib\n\t\t\ty.ts\n\n3 directories, 2 files",
        ),
        ({"pattern": "lib"}, ".\n\tsrc\n\t\tlib\n\n2 directories, 0 files"),
        ({"pattern": "*.none"}, ".\n\n0 directories, 0 files"),
        ({"exclude": "lib|READ"}, ".\n\tdocs\n\t\tguide.md\n\tsrc\n\t\tapp.py\n\n2 directories, 2 files"),
    ],
)
async def test_choices(files: Filesystem, arguments: dict[str, Any], expected: str) -> None:
    await fill(files, *TREE)
    assert (await listed(files, max_depth=5, **arguments)).text == expected


async def test_ignored_files_nested_rules_and_those_above_the_directory(files: Filesystem) -> None:
    await fill(files, "a.log", "keep.log", "build/x", "sub/a.log", "sub/b.log", "sub/deep/b.log", "sub/c.txt")
    await files.write_text(".gitignore", "*.log\n/build/\n!keep.log\n")
    await files.write_text("sub/.gitignore", "!b.log\nc.txt")
    assert (await listed(files, max_depth=3)).text == (
        ".\n\tsub\n\t\tdeep\n\t\t\tb.log\n\t\tb.log\n\tkeep.log\n\n2 directories, 3 files"
    )
    assert (await listed(files, path="sub")).text == ".\n\tdeep\n\t\tb.log\n\tb.log\n\n1 directory, 2 files"
    everything = await listed(files, respect_gitignore=False, max_depth=3)
    assert everything.text.endswith("3 directories, 7 files")


class Touches(MemoryFilesystem):
    """Notes which directories were listed."""

    def __init__(self) -> None:
        super().__init__()
        self.listings: list[str] = []
        inner = self.provider.list

        def noted(path: StoragePath, *, recursive: bool = False) -> AsyncIterator[Entry]:
            self.listings.append(str(path))
            return inner(path, recursive=recursive)

        self.provider.list = noted  # type: ignore[method-assign]


async def test_what_is_left_out_is_not_even_listed() -> None:
    files = Touches()
    await fill(files, "node_modules/a/b", "out/x", ".cache/y", "src/z", ".git/objects/w")
    await files.write_text(".gitignore", "node_modules")
    await listed(files, exclude="out", max_depth=5)
    assert files.listings == ["/", "/src"]


async def test_rules_stay_within_their_mount() -> None:
    outer, inner = MemoryFilesystem(), MemoryFilesystem()
    await outer.write_text(".gitignore", "*.log\ninner")
    await fill(outer, "a.log", "a.txt")
    await fill(inner, "b.log", "sub/c.log")
    await inner.write_text("sub/.gitignore", "c.log")
    workspace = Workspace(mounts={"/": outer, "/inner": inner}, nested_mounts=True)
    result = await workspace.call_tool(LIST, {"max_depth": 4})
    assert result.text == ".\n\tinner\n\t\tsub\n\t\tb.log\n\ta.txt\n\n2 directories, 2 files"


async def test_the_root_of_many_mounts_shows_each_once_and_a_failed_one_takes_no_other_down() -> None:
    async def refuse(context: object) -> Filesystem:
        raise UnavailableError("the store is away")

    good = MemoryFilesystem()
    await fill(good, "x/y")
    workspace = Workspace(mounts={"/a/good": good, "/a/bad": refuse, "/z": MemoryFilesystem()})
    result = await workspace.call_tool(LIST, {"max_depth": 3})
    assert result.text == (
        ".\n\ta\n\t\tbad (cannot be listed: the store is away)\n\t\tgood\n\t\t\tx\n\tz\n\n"
        "5 directories, 0 files (truncated at depth 3)"
    )


async def test_links_are_named_with_their_targets_and_not_entered(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "dir").mkdir(parents=True)
    (root / "dir" / "f").write_text("x")
    outside.mkdir()
    (outside / "secret").write_text("x")
    os.mkfifo(root / "pipe")
    for name, target in {
        "to_dir": "dir",
        "absolute": str(root / "dir"),
        "out": str(outside),
        "loop": "loop",
        "gone": "a\nb",
    }.items():
        (root / name).symlink_to(target)
    result = await listed(LocalFilesystem(str(root)), max_depth=3)
    assert result.text == (
        ".\n\tdir\n\t\tf\n\tabsolute -> /dir\n\tgone -> a\\x0ab\n\tloop -> loop\n\tout -> (outside)\n\tpipe\n"
        "\tto_dir -> dir\n\n1 directory, 7 files"
    )


async def test_a_name_that_no_path_can_express_is_shown_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "two\nlines").write_text("x")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff"))).write_text("x")
    result = await listed(LocalFilesystem(str(tmp_path)))
    assert result.text == ".\n\tbad\\xff\n\ttwo\\x0alines\n\n0 directories, 2 files"


async def test_a_secret_in_a_name_is_masked(files: Filesystem) -> None:
    secret = "ghp_" + "a1B2" * 9
    await fill(files, f"key-{secret}/x")
    assert secret not in (await listed(files)).text


@pytest.mark.parametrize(("argument", "form"), [("pattern", "k-{}*"), ("exclude", "{}")])
async def test_a_name_is_chosen_by_what_is_shown_of_it(files: Filesystem, argument: str, form: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    await fill(files, f"k-{secret}")
    right = await listed(files, **{argument: form.format(secret[:9])})
    wrong = await listed(files, **{argument: form.format("ghp_zzzzz")})
    assert right.structured == wrong.structured
    assert (await listed(files, pattern="k-*")).structured["files"] == 1


@pytest.mark.parametrize("form", ["k-{}*", "/k-{}*", "k-{}*/"])
async def test_a_name_is_ignored_by_what_is_shown_of_it(files: Filesystem, form: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    await fill(files, f"k-{secret}", f"dir/k-{secret}/x")
    for guess in (secret[:9], "ghp_zzzzz"):
        await files.write_text(".gitignore", form.format(guess))
        assert (await listed(files, max_depth=3)).structured["files"] == 2


@pytest.mark.parametrize("most", [1, 10])
async def test_the_order_is_by_names_as_they_are_shown(files: Filesystem, most: int) -> None:
    secret = "ghp_" + "a1B2" * 9
    await fill(files, f"k-{secret}", f"dir/k-{secret}/x")
    texts: list[str] = []
    for guess in ("k-ghp_a0", "k-ghp_a2"):
        await fill(files, guess, f"dir/{guess}/x")
        workspace = Workspace(filesystem=files, tools={LIST: {"max_entries": most}})
        for path in (".", "dir"):
            result = await workspace.call_tool(LIST, {"path": path, "max_depth": 1})
            texts.append(result.text.replace(guess, "…"))
        await files.delete(guess)
        await files.remove_dir(f"dir/{guess}", recursive=True)
    assert texts[:2] == texts[2:]


@pytest.mark.parametrize(
    "arguments",
    [
        {"pattern": ["a"] * 65},
        {"pattern": "x" * 5_000},
        {"pattern": "{a,b}" * 10 + "x" * 1_000},
        {"exclude": "x" * 5_000},
        {"exclude": "x|" * 65},
    ],
)
async def test_arguments_have_bounds(files: Filesystem, arguments: dict[str, Any]) -> None:
    result = await listed(files, **arguments)
    assert result.error is not None
    assert result.error.code == "invalid_arguments"


async def test_more_than_the_cap_is_counted(files: Filesystem) -> None:
    await fill(files, *(f"d{number:02}/f{other}" for number in range(10) for other in range(3)), "z")
    workspace = Workspace(filesystem=files, tools={LIST: {"max_entries": 6}})
    result = await workspace.call_tool(LIST, {})
    assert result.text == (
        ".\n\td00\n\t\tf0\n\t\tf1\n\t\tf2\n\td01\n\t\tf0\n"
        "… 35 more; narrow it with path, pattern, extension or exclude\n\n10 directories, 31 files"
    )


async def test_more_than_the_tokens_allow_is_counted(files: Filesystem) -> None:
    await fill(files, *(f"a-file-with-a-rather-long-name-{number:03}" for number in range(200)))
    workspace = Workspace(filesystem=files, tools={LIST: {"max_output_tokens": 200}})
    result = await workspace.call_tool(LIST, {})
    shown = result.text.count("\ta-file")
    assert 0 < shown < 200
    assert f"… {200 - shown} more;" in result.text
    assert result.text.endswith("0 directories, 200 files")


async def test_no_such_directory_and_no_directory(files: Filesystem) -> None:
    await fill(files, "notes/a.md")
    missing, plain = await listed(files, path="note"), await listed(files, path="notes/a.md")
    assert [result.error.code for result in (missing, plain) if result.error] == ["not_found", "not_directory"]
    assert "/notes" in missing.text


class Requests:
    """Counts what a store of objects is asked for."""

    def __init__(self, client: MemoryObjectClient) -> None:
        self.names: list[str] = []
        for name in ("list", "get", "head"):
            setattr(client, name, self._counted(name, getattr(client, name)))

    def _counted(self, name: str, call: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.names.append(name)
            return call(*arguments, **options)

        return counted


async def test_a_store_of_objects_is_listed_in_one_pass() -> None:
    client = MemoryObjectClient()
    files = Filesystem(ObjectStoreProvider(client))
    await fill(files, *(f"d{number}/e/f" for number in range(50)))
    requests = Requests(client)
    result = await listed(files, max_depth=5)
    assert result.text.endswith("100 directories, 50 files")
    assert requests.names.count("list") <= 2
    assert requests.names.count("get") <= 1


@pytest.mark.slow
async def test_memory_does_not_grow_with_the_directory(tmp_path: Path) -> None:
    for number in range(100_000):
        (tmp_path / f"entry{number:06}").touch()
    files = LocalFilesystem(str(tmp_path))
    await listed(files)
    tracemalloc.start()
    try:
        result = await listed(files)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.text.endswith("0 directories, 100000 files")
    assert peak < 16 * 1024 * 1024
