"""Where the paths that commands see lead on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage_workspace.errors import SandboxError
from moorage_workspace.sandbox.places import Place, Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("work/sub", "notes/deep", "outside", "work-evil"):
        (tmp_path / name).mkdir(parents=True)
    return Places(
        Place("/workspace", str(tmp_path / "work")), (Place("/notes", str(tmp_path / "notes"), read_only=True),)
    )


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        (".", "/workspace"),
        ("sub", "/workspace/sub"),
        ("./sub/../sub/.", "/workspace/sub"),
        ("/workspace/sub", "/workspace/sub"),
        ("/notes/deep", "/notes/deep"),
        ("../notes", "/notes"),
        ("not/there/yet", "/workspace/not/there/yet"),
        ("/elsewhere/../workspace", "/workspace"),
    ],
)
def test_paths_that_lead_in(places: Places, path: str, inside: str) -> None:
    assert places.locate(path).inside == inside


@pytest.mark.parametrize("path", ["..", "/", "/etc", "sub/../..", "/workspace-evil", "/workspacex", "", "a\0b"])
def test_paths_that_lead_out(places: Places, path: str) -> None:
    with pytest.raises(SandboxError):
        places.locate(path)


@pytest.mark.parametrize("target", ["/etc", "../outside", "..", "/", "sub/../../outside", "../work-evil"])
@pytest.mark.parametrize("rest", ["", "/below"])
def test_links_that_lead_out(places: Places, tmp_path: Path, target: str, rest: str) -> None:
    (tmp_path / "work" / "link").symlink_to(target)
    with pytest.raises(SandboxError, match="leads out"):
        places.locate(f"link{rest}")


@pytest.mark.parametrize(
    ("target", "inside"),
    [("sub", "/workspace/sub"), ("/workspace/sub", "/workspace/sub"), ("/notes", "/notes"), ("new", "/workspace/new")],
)
def test_links_lead_where_they_lead_inside(places: Places, tmp_path: Path, target: str, inside: str) -> None:
    (tmp_path / "work" / "link").symlink_to(target)
    assert places.locate("link").inside == inside


def test_links_in_a_circle(places: Places, tmp_path: Path) -> None:
    (tmp_path / "work" / "a").symlink_to("b")
    (tmp_path / "work" / "b").symlink_to("a")
    with pytest.raises(SandboxError, match="circle"):
        places.locate("a/x")


def test_a_place_keeps_what_it_is(places: Places, tmp_path: Path) -> None:
    located = places.locate("/notes/deep")
    assert located.place.read_only
    assert located.host == str(tmp_path / "notes" / "deep")


def test_the_innermost_place_counts(tmp_path: Path) -> None:
    places = Places(Place("/workspace", str(tmp_path)), (Place("/workspace/in", "/other"),))
    assert places.locate("in/x").host == "/other/x"
    assert places.locate("inn").host == str(tmp_path / "inn")


def test_a_mounts_path_stands_for_its_link(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "work" / "notes").symlink_to(tmp_path / "notes")
    work, notes = str(tmp_path / "work"), str(tmp_path / "notes")
    places = Places(Place(work, work), (Place(notes, notes),), {"/notes": f"{work}/notes"})
    assert places.locate("/notes/x").host == f"{notes}/x"
    assert places.locate("notes/x").host == f"{notes}/x"


def test_only_a_directory_can_be_started_in(places: Places, tmp_path: Path) -> None:
    (tmp_path / "work" / "file").touch()
    for path in ("file", "missing"):
        with pytest.raises(SandboxError, match="no such directory"):
            places.directory(path)


def test_errors_hold_no_host_path(places: Places, tmp_path: Path) -> None:
    (tmp_path / "work" / "link").symlink_to(tmp_path / "outside")
    for path in ("link", "missing", "link/x"):
        with pytest.raises(SandboxError) as caught:
            places.directory(path)
        assert str(tmp_path) not in str(caught.value)
