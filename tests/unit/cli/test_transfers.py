"""cp and mv: within the tree, and between it and this machine's disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.conftest import Runner

pytestmark = pytest.mark.usefixtures("host_tree")


@pytest.fixture
def host_tree(workspace: Path) -> Path:
    """``src/`` on the disk: two files, an empty directory, and links in and out."""
    source = workspace / "src"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "a.txt").write_text("a")
    (source / "sub" / "b.txt").write_text("b")
    return source


def names(run: Runner, path: str) -> list[str]:
    return run("ls", "-R", path).out.split()


def test_a_tree_is_imported_and_exported(run: Runner, workspace: Path) -> None:
    assert run("cp", "-r", "local:src", "/data/in").code == 0
    assert names(run, "/data/in") == ["/data/in/a.txt", "/data/in/sub", "/data/in/sub/b.txt", "/data/in/sub/empty"]
    assert run("cp", "-r", "/data/in", "local:out/of/it").code == 0
    assert (workspace / "out/of/it/sub/b.txt").read_text() == "b"
    assert (workspace / "out/of/it/sub/empty").is_dir()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("local:src/a.txt", "/data/x"), "/data/x"),
        (("local:src/a.txt", "/data"), "/data/a.txt"),
        (("local:src/a.txt", "/data/new/"), "/data/new/a.txt"),
        (("local:./src/sub/../a.txt", "/data/x"), "/data/x"),
        (("-r", "local:src", "/data"), "/data/src/a.txt"),
        (("-r", "local:src/", "/data/"), "/data/src/a.txt"),
        (("-r", "-T", "local:src", "/data"), "/data/a.txt"),
        (("-r", "local:src", "/data/y"), "/data/y/a.txt"),
    ],
)
def test_where_a_copy_goes(run: Runner, arguments: tuple[str, ...], expected: str) -> None:
    assert run("cp", *arguments).code == 0
    assert run("cat", expected).out == "a"


def test_several_sources_go_into_the_target(run: Runner) -> None:
    done = run("cp", "local:src/a.txt", "local:src/sub/b.txt", "/data/both", "--json")
    assert [document["path"] for document in done.documents] == ["/data/both/a.txt", "/data/both/b.txt"]
    assert names(run, "/data/both") == ["/data/both/a.txt", "/data/both/b.txt"]
    assert run("cp", "-T", "local:src/a.txt", "local:src/sub/b.txt", "/data/x").code == 2


def test_a_copy_to_the_disk_goes_where_cp_would_put_it(run: Runner, workspace: Path) -> None:
    run("write", "/notes/x", "--text", "x")
    for target in ("local:.", "local:src", f"local:{workspace}/new/name"):
        assert run("cp", "/notes/x", target).code == 0
    for file in ("x", "src/x", "new/name"):
        assert (workspace / file).read_text() == "x"


def test_all_of_the_workspace_can_be_exported(run: Runner, workspace: Path) -> None:
    run("write", "/data/x", "--text", "x")
    assert run("cp", "-r", "/", "local:all").code == 0
    assert sorted(path.name for path in (workspace / "all").iterdir()) == ["data", "frozen", "notes"]
    assert (workspace / "all/data/x").read_text() == "x"


def test_copying_twice_does_not_nest(run: Runner) -> None:
    for _ in range(2):
        assert run("cp", "-r", "local:src", "/data").code == 0
    assert names(run, "/data/src") == ["/data/src/a.txt", "/data/src/sub", "/data/src/sub/b.txt", "/data/src/sub/empty"]


def test_a_directory_needs_recursive(run: Runner) -> None:
    refused = run("cp", "local:src", "/data/x")
    assert refused.code == 1
    assert "local:src" in refused.err


def test_no_overwrite_keeps_what_is_there(run: Runner) -> None:
    run("write", "/data/x", "--text", "old")
    assert run("cp", "local:src/a.txt", "/data/x", "--no-overwrite").code == 1
    assert run("mv", "local:src/a.txt", "/data/x", "--no-overwrite").code == 1
    assert run("cat", "/data/x").out == "old"


def test_move_within_and_across(run: Runner, workspace: Path) -> None:
    assert run("mv", "local:src", "/data/moved").code == 0
    assert not (workspace / "src").exists()
    assert run("mv", "/data/moved/a.txt", "/notes").code == 0
    assert run("cat", "/notes/a.txt").out == "a"
    assert run("cat", "/data/moved/a.txt").code == 5
    assert run("mv", "/data/moved", "local:back").code == 0
    assert (workspace / "back/sub/b.txt").read_text() == "b"
    assert run("ls", "/data").out == ""


def test_a_link_out_of_the_source_brings_nothing_from_outside(run: Runner, host_tree: Path, workspace: Path) -> None:
    (workspace / "secret").write_text("outside")
    (host_tree / "out").symlink_to(workspace / "secret")
    failed = run("cp", "-r", "local:src", "/data/in")
    assert failed.code == 1
    assert "local:src/out" in failed.err
    assert "outside" not in failed.err
    assert run("cat", "/data/in/a.txt").out == "a"
    assert run("cat", "/data/in/out").code == 5


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (("local:nowhere/x", "/data"), 5, "local:nowhere/x"),
        (("local:nowhere", "/data/y"), 5, "local:nowhere"),
        (("local:", "/data"), 2, "local:"),
        (("local:src/a.txt", "local:b"), 2, "local:src/a.txt"),
        (("-r", "/", "/data/all"), 2, "/data/all"),
        (("local:src/a.txt", "/frozen/x"), 4, "/frozen/x"),
        (("local:src/a.txt", "/elsewhere/x"), 5, "/elsewhere/x"),
    ],
)
def test_refusals_name_the_operand_as_it_was_written(
    run: Runner, workspace: Path, arguments: tuple[str, ...], code: int, shown: str
) -> None:
    refused = run("cp", *arguments)
    assert (refused.code, refused.out) == (code, "")
    assert shown in refused.err
    assert str(workspace) not in refused.err
    assert run("cp", *arguments, "--json").document["error"]["path"] == shown
    assert not (workspace / "nowhere").exists()


def test_what_did_not_arrive_is_said_once(run: Runner, workspace: Path) -> None:
    (workspace / "out/sub/b.txt").mkdir(parents=True)
    run("cp", "-r", "local:src", "/data/in")
    lines = run("cp", "-r", "-T", "/data/in", "local:out").err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("moorage: copy: 1 done, 1 not: '/data/in' [copy]")
    assert lines[1].startswith("moorage:   /data/in/sub/b.txt: ")


def internal(run: Runner, *arguments: str) -> bool:
    """Whether text or JSON shows where a host directory is mounted."""
    return "/local:" in run(*arguments).err or "/local:" in run(*arguments, "--json").out


def test_the_failures_within_a_tree_name_paths_as_they_were_written(
    run: Runner, host_tree: Path, workspace: Path
) -> None:
    (host_tree / "out").symlink_to(workspace / "moorage.toml")
    failed = run("cp", "-r", "local:src", "/data/in", "--json").document["error"]
    [inner] = failed["failed"]
    assert (inner["path"], inner["error"]["path"]) == ("local:src/out", "local:src/out")
    assert not internal(run, "cp", "-r", "local:src", "/data/in")


@pytest.mark.parametrize("target", ["local:out/", "local:./out", "local:out/of/it"])
def test_the_failures_of_an_export_name_the_disk_as_it_was_written(run: Runner, workspace: Path, target: str) -> None:
    run("write", "/data/in/x/y", "--text", "y")
    (workspace / "out/of/it/in").mkdir(parents=True)
    for above in ("out", "out/in", "out/of/it", "out/of/it/in"):
        (workspace / above).mkdir(exist_ok=True)
        (workspace / above / "x").write_text("in the way")
    assert run("cp", "-r", "/data/in", target).code == 1
    assert not internal(run, "cp", "-r", "/data/in", target)


def test_a_name_that_looks_like_a_host_mount_is_shown_as_it_is(run: Runner, workspace: Path) -> None:
    run("write", "/data/local:0/x/y", "--text", "y")
    (workspace / "out").mkdir()
    (workspace / "out/x").write_text("in the way")
    refused = run("cp", "-r", "-T", "/data/local:0", "local:out", "--json").document["error"]
    assert [failed["path"] for failed in refused["failed"]] == ["/data/local:0/x", "/data/local:0/x/y"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("cp", "-r", "local:.", "/disk/back"),
        ("cp", "-r", "local:.", "/disk"),
        ("cp", "-r", "-T", "local:src", "/inner/new"),
        ("mv", "local:.", "/disk/back"),
        ("mv", "local:src", "/inner/new"),
        ("cp", "-r", "/disk", "local:src/sub/new"),
        ("mv", "/disk/sub", "local:src/sub/new"),
    ],
)
def test_a_tree_does_not_go_into_itself_through_a_mount(
    run: Runner, workspace: Path, arguments: tuple[str, ...]
) -> None:
    before = sorted(workspace.rglob("*"))
    mounts = ("--mount", f"/disk=local://{workspace}/src", "--mount", f"/inner=local://{workspace}/src/sub")
    refused = run(*arguments, *mounts)
    assert (refused.code, refused.out) == (2, "")
    assert "into itself" in refused.err
    assert sorted(workspace.rglob("*")) == before


def test_mount_points_stay(run: Runner) -> None:
    assert run("mv", "/data", "/notes/x").code == 1
    assert run("mv", "/data", "local:x").code == 1
