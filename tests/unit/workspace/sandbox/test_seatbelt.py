"""The text of seatbelt's profile; what it does needs macOS."""

from __future__ import annotations

import re
import sys

import pytest

from moorage_workspace.errors import IsolationUnavailableError
from moorage_workspace.sandbox.isolation import Surroundings, find_isolation
from moorage_workspace.sandbox.places import Place
from moorage_workspace.sandbox.seatbelt import Seatbelt, profile


def surroundings(*, network: bool = False, read_only: bool = False, home: str = "/Users/me/work") -> Surroundings:
    return Surroundings(
        Place(home, home, read_only=read_only),
        {"/notes": Place("/data/notes", "/data/notes", read_only=True), "/out": Place("/data/out", "/data/out")},
        (Place("/opt/python", "/opt/python", read_only=True),),
        network=network,
    )


def rules(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_what_no_rule_allows_is_denied() -> None:
    assert profile(surroundings()).splitlines()[:2] == ["(version 1)", "(deny default)"]


def test_only_what_is_writable_can_be_written() -> None:
    [allowed] = rules(profile(surroundings()), "(allow file-write* ")
    assert re.findall(r'subpath "([^"]*)"', allowed) == ["/Users/me/work", "/data/out"]


def test_what_is_read_only_is_denied_after_all_that_is_allowed() -> None:
    lines = profile(surroundings(read_only=True)).splitlines()
    [denied] = [line for line in lines if line.startswith("(deny file-write*")]
    assert re.findall(r'subpath "([^"]*)"', denied) == ["/Users/me/work", "/opt/python", "/data/notes"]
    assert lines.index(denied) > max(index for index, line in enumerate(lines) if line.startswith("(allow file-write"))


def test_homes_and_temporary_files_of_the_machine_cannot_be_read() -> None:
    allowed = " ".join(rules(profile(surroundings()), "(allow file-read* "))
    paths = re.findall(r'subpath "([^"]*)"', allowed)
    assert not {"/", "/Users", "/private", "/private/tmp", "/private/var", "/private/etc"} & set(paths)
    assert {"/Users/me/work", "/data/notes", "/opt/python", "/usr"} <= set(paths)


def test_the_network_is_there_when_asked_for() -> None:
    assert rules(profile(surroundings()), "(allow network") == []
    assert rules(profile(surroundings(network=True)), "(allow network") == ["(allow network*)"]


def test_a_path_cannot_end_its_own_text() -> None:
    text = profile(surroundings(home='/a"))(allow file-write* (subpath "/'))
    assert '"/a\\"))(allow file-write* (subpath \\"/"' in text
    assert '(subpath "/")' not in text


def test_it_comes_before_the_command() -> None:
    program, option, text = Seatbelt().prefix(surroundings())
    assert (program, option) == ("/usr/bin/sandbox-exec", "-p")
    assert text == profile(surroundings())


@pytest.mark.skipif(sys.platform == "darwin", reason="it is there")
def test_where_it_is_not_there_it_says_what_to_do() -> None:
    with pytest.raises(IsolationUnavailableError, match="install bubblewrap"):
        find_isolation("seatbelt")
