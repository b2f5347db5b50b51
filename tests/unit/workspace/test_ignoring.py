"""Ignore rules mean what git says they mean."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage import MemoryFilesystem, StoragePath
from moorage_workspace.ignore_rules import IgnoreRules
from moorage_workspace.ignoring import LARGEST, MOST_RULES, IgnoreFile
from moorage_workspace.shown_names import ShownNames


def decide(content: bytes, path: str, *, is_dir: bool = False) -> bool | None:
    return IgnoreFile.parse(content).decide(path, is_dir=is_dir)


@pytest.mark.parametrize(
    ("content", "yes", "no"),
    [
        (b"build", ["build", "a/build"], ["builds", "a/rebuild"]),
        (b"/build", ["build"], ["a/build"]),
        (b"a/b", ["a/b"], ["x/a/b"]),
        (b"*.pyc", ["x.pyc", "a/x.pyc"], ["x.py"]),
        (b"**/x", ["x", "a/b/x"], ["xx"]),
        (b"a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        (b"a/**/z", ["a/z", "a/b/c/z"], ["z", "a/zz"]),
        (b"a*/b", ["a/b", "ax/b"], ["a/x/b"]),
        (b"?x", ["ax"], ["x", "axx"]),
        (b"?x", ["ax"], ["éx"]),
        (b"[a-c]x", ["ax"], ["dx"]),
        (b"[!a-c]x", ["dx"], ["ax"]),
        (b"[[:digit:]]", ["1"], ["a"]),
        (b"[]x]", ["]", "x"], ["a"]),
        (b"[z", [], ["[z", "z"]),
        (b"\\#a\n#b", ["#a"], ["#b", "b"]),
        (b"\\!a", ["!a"], ["a"]),
        (b"a \nb\\ ", ["a", "b "], ["a ", "b"]),
        (b"a\r\nb\r\n", ["a", "b"], ["a\r"]),
        (b"\xef\xbb\xbfa", ["a"], []),
        (b"x\n!x", [], ["x"]),
        (b"!x\nx", ["x"], []),
        (b"", [], ["x"]),
        (b"/\n//\n!\n", [], ["x"]),
        (b"end\\", [], ["end", "end\\"]),
    ],
)
def test_patterns(content: bytes, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not decide(content, path)] == []
    assert [path for path in no if decide(content, path)] == []


def test_a_slash_at_the_end_is_about_directories() -> None:
    assert decide(b"build/", "build") is None
    assert decide(b"build/", "a/build", is_dir=True) is True


def test_what_no_rule_speaks_of_is_not_decided() -> None:
    assert decide(b"x", "y") is None
    assert decide(b"x\n!x", "x") is False


@pytest.mark.timeout(60)
def test_of_a_file_only_so_much_is_followed() -> None:
    rules = b"\n".join(b"a%d-*b" % number for number in range(MOST_RULES + 1))
    assert decide(rules, f"a{MOST_RULES - 1}-b") is True
    assert decide(rules, f"a{MOST_RULES}-b") is None
    filled = b"#" * (LARGEST - 3) + b"\nab\ncd\n"
    assert decide(filled, "ab") is None
    assert decide(filled[1:], "ab") is True


async def _decided_in(content: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    threads: list[int] = []
    parse = IgnoreFile.parse

    def noted(given: bytes) -> IgnoreFile:
        threads.append(threading.get_ident())
        return parse(given)

    monkeypatch.setattr(IgnoreFile, "parse", noted)
    files = MemoryFilesystem()
    await files.write_bytes(".gitignore", content)
    assert await IgnoreRules(files, ShownNames(str)).ignores(StoragePath("/a0b"), is_dir=False)
    return threads[0]


@pytest.mark.anyio
async def test_much_is_understood_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await _decided_in(b"a*b\n" * 10_000, monkeypatch) != threading.get_ident()


def test_no_pattern_takes_for_ever() -> None:
    assert decide(b"*a" * 40 + b"b", "a" * 255) is None
    assert decide(b"**/a/" * 30 + b"b", "a/" * 100 + "c") is None
    assert decide(b"/x" + b"[a-z]*" * 40 + b"!", "x" + "a" * 254) is None
    assert decide(b"**/*a*/" * 20 + b"b", "aaaaaaaa/" * 60 + "c") is None


TREE = ["a", "b", "ab", "a.b", "x/a", "x/b", "x/y/a", "x/y/ab", "x/y/z/b", "a b ", "]", "ba/x/a", "ba/ab", "-", "1é"]
PATTERN = st.text("ab.x/y*?[]!-\\ #z1é^:", max_size=9) | st.lists(
    st.sampled_from(["a", "b", "x", "y", "*", "**", "/", "?", "[ab]", "[!a]", "z", "[[:alpha:]]", "\\a", "!"]),
    max_size=6,
).map("".join)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    root=st.lists(PATTERN, max_size=4),
    nested=st.dictionaries(st.sampled_from(["x", "x/y", "ba"]), st.lists(PATTERN, max_size=3), max_size=2),
)
def test_agrees_with_git(root: list[str], nested: dict[str, list[str]]) -> None:
    with TemporaryDirectory() as name:
        top = Path(name)
        for path in TREE:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(b"") if not (top / path).is_dir() else None
        files = {"": "\n".join(root).encode()} | {path: "\n".join(lines).encode() for path, lines in nested.items()}
        for path, content in files.items():
            (top / path / ".gitignore").write_bytes(content)
        paths = sorted(
            os.path.relpath(os.path.join(where, found), top)
            for where, below, plain in os.walk(top)
            for found in (*below, *plain)
            if found != ".gitignore"
        )
        assert [path for path in paths if _ignored(files, path, top)] == _ignored_by_git(top, paths)


def _ignored(files: dict[str, bytes], path: str, top: Path) -> bool:
    parts = path.split("/")
    steps = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(_decided(files, step, is_dir=(top / step).is_dir()) for step in steps)


def _decided(files: dict[str, bytes], path: str, *, is_dir: bool) -> bool:
    parts = path.split("/")
    for depth in range(len(parts) - 1, -1, -1):
        content = files.get("/".join(parts[:depth]))
        if content is not None:
            decided = decide(content, "/".join(parts[depth:]), is_dir=is_dir)
            if decided is not None:
                return decided
    return False


def _ignored_by_git(top: Path, paths: list[str]) -> list[str]:
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(top)}
    subprocess.run(["git", "init", "-q", str(top)], check=True, env=environment, capture_output=True)
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"],
        cwd=top,
        env=environment,
        input="\0".join(paths).encode() + b"\0",
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    fields = done.stdout.decode().split("\0")[:-1]
    rows = [fields[start : start + 4] for start in range(0, len(fields), 4)]
    return [path for _, _, pattern, path in rows if pattern and not pattern.startswith("!")]
