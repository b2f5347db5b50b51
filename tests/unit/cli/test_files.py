"""write, cat, stat, rm, mkdir: results, JSON, and one exit code for each kind of refusal."""

from __future__ import annotations

import pytest
from tests.unit.cli.conftest import Runner


def test_what_is_written_can_be_read(run: Runner) -> None:
    written = run("write", "/notes/a/b.txt", stdin=b"one\r\n\xff")
    assert (written.code, written.err) == (0, "")
    assert run("cat", "/notes/a/b.txt").out.encode("utf-8", "surrogateescape") == b"one\r\n\xff"
    assert run("stat", "/notes/a/b.txt", "--json").document["version"] == written.out.strip()


def test_write_takes_text(run: Runner) -> None:
    assert run("write", "/notes/x", "--text", "é", "--media-type", "text/plain").code == 0
    shown = run("--json", "cat", "/notes/x").document
    assert (shown["content"], shown["encoding"], shown["media_type"]) == ("é", "utf-8", "text/plain")


def test_append_adds_to_the_end(run: Runner) -> None:
    run("write", "/notes/x", "--text", "one ")
    assert run("write", "/notes/x", "--append", "--text", "two").code == 0
    assert run("write", "/notes/x", "-a", stdin=b" three").code == 0
    assert run("cat", "/notes/x").out == "one two three"
    assert run("write", "/notes/x", "--append", "--no-overwrite", "--text", "x").code == 2


@pytest.mark.parametrize("append", [(), ("--append",)])
def test_an_argument_that_is_no_text_is_wrong_usage(run: Runner, append: tuple[str, ...]) -> None:
    refused = run("write", "/notes/x", *append, "--text", "hidden \udcff", "--json").document["error"]
    assert (refused["code"], "is not UTF-8; give bytes on standard input" in refused["message"]) == ("usage", True)
    refused_for_people = run("write", "/notes/x", *append, "--text", "hidden \udcff")
    assert (refused_for_people.code, "hidden" in refused_for_people.err) == (2, False)
    assert run("stat", "/notes/x").code == 5


def test_the_help_of_append_says_what_it_holds(run: Runner) -> None:
    assert "Add to the end; standard input is held in memory first." in run("write", "--help").out


@pytest.mark.parametrize(
    ("range_", "expected"), [("1:3", "bc"), (":2", "ab"), ("4:", "ef"), ("9:", ""), (":", "abcdef")]
)
def test_cat_takes_a_range(run: Runner, range_: str, expected: str) -> None:
    run("write", "/notes/x", "--text", "abcdef")
    assert run("cat", "/notes/x", "--range", range_).out == expected


@pytest.mark.parametrize("range_", ["1", "a:b", "-1:2", "1:2:3"])
def test_a_wrong_range_is_wrong_usage(run: Runner, range_: str) -> None:
    assert run("cat", "/notes/x", f"--range={range_}").code == 2


def test_bytes_that_are_no_text_are_base64(run: Runner) -> None:
    run("write", "/notes/x", stdin=b"\xff\x00")
    shown = run("cat", "/notes/x", "--json").document
    assert (shown["content"], shown["encoding"], shown["size"]) == ("/wA=", "base64", 2)


def test_a_stale_write_is_3(run: Runner) -> None:
    version = run("write", "/notes/x", "--text", "one").out.strip()
    time = run("stat", "/notes/x", "--json").document["modified_at"]
    assert run("write", "/notes/x", "--text", "two", "--expected-version", version).code == 0
    for option, value in (("--expected-version", version), ("--expected-mtime", time)):
        refused = run("write", "/notes/x", "--text", "three", option, value)
        assert (refused.code, refused.out) == (3, "")
        assert run("rm", "/notes/x", option, value).code == 3
    assert run("cat", "/notes/x").out == "two"


def test_a_time_that_still_holds_is_accepted(run: Runner) -> None:
    run("write", "/notes/x", "--text", "one")
    time = run("stat", "/notes/x", "--json").document["modified_at"]
    assert run("write", "/notes/x", "--text", "two", "--expected-mtime", time).code == 0
    assert run("write", "/notes/x", "--text", "two", "--expected-mtime", "yesterday").code == 2


def test_no_overwrite(run: Runner) -> None:
    assert run("write", "/notes/x", "--text", "one", "--no-overwrite").code == 0
    refused = run("write", "/notes/x", "--text", "two", "--no-overwrite", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (1, "exists")


@pytest.mark.parametrize(
    "arguments",
    [
        ("write", "/frozen/x", "--text", "x"),
        ("write", "/frozen/x", "--append", "--text", "x"),
        ("rm", "/frozen/x"),
        ("rm", "-rf", "/frozen/x"),
        ("mkdir", "/frozen/d"),
        ("cp", "/notes/x", "/frozen/x"),
        ("mv", "/notes/x", "/frozen/x"),
        ("mv", "/frozen/x", "/notes/y"),
    ],
)
def test_read_only_is_4(run: Runner, arguments: tuple[str, ...]) -> None:
    run("write", "/notes/x", "--text", "one")
    run("write", "/data/x", "--text", "one")
    assert run(*arguments).code == 4
    assert run("cat", "/frozen/x", "/notes/x").out == "oneone"


@pytest.mark.parametrize(
    "arguments",
    [
        ("cat", "/notes/missing"),
        ("stat", "/notes/missing"),
        ("ls", "/notes/missing"),
        ("tree", "/notes/missing"),
        ("find", "/notes/missing"),
        ("du", "/notes/missing"),
        ("rm", "/notes/missing"),
        ("cp", "/notes/missing", "/data/x"),
        ("mv", "/notes/missing", "/data/x"),
        ("mkdir", "/notes/missing/d"),
        ("write", "/notes/missing/x", "--no-parents", "--text", "x"),
        ("write", "/elsewhere/x", "--text", "x"),
    ],
)
def test_not_found_is_5_with_the_path_as_written(run: Runner, arguments: tuple[str, ...]) -> None:
    plain = run(*arguments)
    assert (plain.code, plain.out) == (5, "")
    assert plain.err.startswith("moorage: ")
    assert "Traceback" not in plain.err
    error = run(*arguments, "--json").document["error"]
    assert error["path"] in ("/notes/missing", "/elsewhere/x")
    assert error["operation"]


@pytest.mark.parametrize("arguments", [("cat", "/notes/../x"), ("ls", "a\x1bb"), ("cat",), ("cat", "/x", "--what")])
def test_wrong_usage_is_2(run: Runner, arguments: tuple[str, ...]) -> None:
    refused = run(*arguments)
    assert refused.code == 2
    assert "\x1b" not in refused.err
    as_json = run(*arguments, "--json")
    assert (as_json.code, as_json.err) == (2, "")
    assert as_json.document["error"]["code"] in ("usage", "invalid_path")


def test_rm_and_mkdir(run: Runner) -> None:
    assert run("mkdir", "/notes/d").code == 0
    assert run("mkdir", "/notes/d").code == 1
    assert run("mkdir", "-p", "/notes/d", "/notes/e/f").code == 0
    run("write", "/notes/d/x", "--text", "x")
    assert run("rm", "/notes/d").code == 1
    assert run("rm", "-r", "/notes/d", "/notes/e").code == 0
    assert run("ls", "/notes").out == ""
    assert run("rm", "--force", "/notes/d").code == 0
    assert run("rm", "--recursive", "/notes").code == 1


def test_stat_is_for_people_too(run: Runner) -> None:
    run("write", "/notes/x", "--text", "x" * 2048)
    shown = run("stat", "/notes/x", "/notes").out
    assert "2048 (2.0 KiB)" in shown
    assert "directory" in shown


def test_debug_shows_where_an_error_came_from(run: Runner) -> None:
    assert "Traceback" in run("cat", "/notes/missing", "--debug").err


# Several operands


@pytest.mark.parametrize("json", [(), ("--json",)])
@pytest.mark.parametrize("command", ["cat", "stat", "du", "rm"])
def test_the_others_go_on_past_one_that_is_missing(run: Runner, command: str, json: tuple[str, ...]) -> None:
    for name in "ab":
        run("write", f"/notes/{name}", "--text", name)
    done = run(command, "/notes/1", "/notes/a", "/notes/2", "/notes/b", *json)
    assert done.code == 5
    if json:
        missing = [document["error"]["path"] for document in done.documents if "error" in document]
        assert missing == ["/notes/1", "/notes/2"]
        assert [document["path"] for document in done.documents if "path" in document] == ["/notes/a", "/notes/b"]
    else:
        assert [line.split("'")[1] for line in done.err.splitlines()] == ["/notes/1", "/notes/2"]
    if command == "rm":
        assert run("ls", "/notes").out == ""


def test_the_exit_code_is_that_of_the_worst_failure(run: Runner) -> None:
    run("write", "/data/x", "--text", "x")
    run("mkdir", "/notes/d")
    assert run("rm", "/notes/1", "/frozen/x", "/notes/2").code == 4
    assert run("rm", "/frozen/x", "/notes/d", "/notes/1").code == 1
    assert run("rm", "/frozen/x", "/data/x", "--expected-version", "old").code == 4
    assert run("rm", "/data/x", "/notes/../1", "--expected-version", "old").code == 3
    assert run("stat", "/notes/1", "/notes/../2", "/data/x").code == 2
    assert run("mkdir", "/notes/1/2", "/notes/e").code == 5
    assert run("stat", "/notes/e").code == 0
