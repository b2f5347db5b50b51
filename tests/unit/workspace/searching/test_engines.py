"""Whichever way files are found, the same lines come out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from moorage import Filesystem, Limits, StoragePath
from moorage_local import LocalFilesystem
from moorage_workspace.errors import ToolRefusedError
from moorage_workspace.ignore_rules import IgnoreRules
from moorage_workspace.redaction import MASK
from moorage_workspace.searching.expressions import Expression, for_ripgrep
from moorage_workspace.searching.matching import MAX_LINE, NO_PATTERN, LineMatcher, lines_of
from moorage_workspace.searching.places import Selection
from moorage_workspace.searching.processes import Workers
from moorage_workspace.searching.ripgrep import Ripgrep, find_ripgrep
from moorage_workspace.searching.search import Answer, Question, search
from moorage_workspace.shown_names import ShownNames

pytestmark = pytest.mark.anyio

ROOT = StoragePath("/")
SHOWN = ShownNames(str)
PIECES = [
    "a",
    "b",
    "ab",
    " ",
    ".",
    "\\.",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\w",
    "\\W",
    "\\d",
    "\\s",
    "\\S",
    "[ab]",
    "[^a]",
    "[a-c1]",
]
PIECES += ["a*", "b+?", "(a|b)", "(?:ab)+", "|", "x{2}", "é", "K", "ß", "\\t", "\\-", "1", "[\\w.]", "[^\\s]", "a{1,2}"]
LINE = st.text("ab x1é\u212aKkß\t.-\x1c\x85\u0663\u0301", max_size=8)
TEXT = st.lists(LINE, max_size=4).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines).encode())
)
CONTENT = (
    TEXT | TEXT.map(lambda text: b"\xef\xbb\xbf" + text) | st.binary(max_size=6) | TEXT.map(lambda text: text + b"\n")
)
NAMES = ["ab", "aa", "x1/ab", "x1a", "xb/b", "a", "a-b", "a/b", "a/.h", "a/c/d", "b.log", "b/x.log", ".hidden", "[x]"]
RULES = st.sampled_from(
    ["*ab", "x*", "?1/*b", "*.log", "/a/", "!b.log", "[b]*", "a/c", "*", "!a", "\\a", "b/**", "**/d", "x{1,2}"]
)


def ripgrep() -> Ripgrep:
    found = find_ripgrep()
    assert found is not None
    return found


def masking(secret: str) -> Callable[[str], str]:
    return lambda text: text.replace(secret, MASK) if secret else text


async def told(
    files: Filesystem, expression: Expression, program: Ripgrep | None, *, hidden: bool = False, secret: str = ""
) -> Any:
    redact = masking(secret)
    selection = Selection(IgnoreRules(files, ShownNames(redact)), ROOT, hidden)
    answer = await search(files, Question(expression, ROOT, selection, context=1), redact=redact, ripgrep=program)
    return _plain(answer)


def _plain(answer: Answer) -> Any:
    return [(file.path, file.lines) for file in answer.files], answer.matches, dict(answer.skipped)


def patterns() -> st.SearchStrategy[Expression]:
    def parsed(pattern: str, ignore_case: bool) -> Expression | None:
        expression = Expression(pattern, ignore_case)
        try:
            expression.compiled()
        except NO_PATTERN:
            return None
        return expression

    written = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
    return st.builds(parsed, written, st.booleans()).filter(lambda found: found is not None)  # type: ignore[return-value]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    expression=patterns(),
    contents=st.dictionaries(st.sampled_from(NAMES), CONTENT, min_size=1),
    rules=st.dictionaries(st.sampled_from(["", "a", "b"]), st.lists(RULES, max_size=3), max_size=2),
    hidden=st.booleans(),
    secret=st.sampled_from(["", "ab", "x1", "x"]),
)
@example(Expression("a$"), {"a": b"a\r\n"}, {}, False, "")
@example(Expression("^a"), {"a": b"\xef\xbb\xbfa"}, {}, False, "")
@example(Expression("k", True), {"a": "\u212a".encode()}, {}, False, "")
@example(Expression("a"), {"ab": b"a", "b": b"a"}, {"": ["ab"]}, False, "ab")
@example(Expression("a*b"), {"a": b"ab\nb", "ab": b"b", "aa": b"b", "x1a": b"b"}, {}, False, "ab")
async def test_the_ways_agree(
    expression: Expression, contents: dict[str, bytes], rules: dict[str, list[str]], hidden: bool, secret: str
) -> None:
    with TemporaryDirectory() as name:
        top = Path(name)
        for path, content in contents.items():
            if not any((top / path).is_relative_to(top / other) and path != other for other in contents):
                (top / path).parent.mkdir(parents=True, exist_ok=True)
                (top / path).write_bytes(content)
        for path, lines in rules.items():
            if not (top / path).is_file():
                (top / path).mkdir(exist_ok=True)
                (top / path / ".gitignore").write_text("\n".join(lines))
        files = LocalFilesystem(name)
        listed = await told(
            Filesystem(Limits(files.provider, max_file_size=1 << 30)), expression, None, hidden=hidden, secret=secret
        )
        assert await told(files, expression, ripgrep(), hidden=hidden, secret=secret) == listed
        assert await told(files, expression, None, hidden=hidden, secret=secret) == listed


@pytest.mark.parametrize("pattern", ["hit", "a.c", "^def [a-z]", "x|y", r"\bfoo\b", "äöü", r"a\.b", "long words only"])
def test_what_cannot_blow_up_needs_no_process(pattern: str) -> None:
    assert Expression(pattern).is_cheap


@pytest.mark.parametrize("pattern", ["a*", "a+b", "a?", "(a|b)", "x{2}", "(?=a)", "[[a]b]", "." * 101, "." * 9, r"\1"])
def test_what_might_blow_up_gets_one(pattern: str) -> None:
    assert not Expression(pattern).is_cheap


async def test_ripgrep_is_used_where_the_pattern_means_the_same(tmp_path: Path) -> None:
    for name, content in {"a": b"hit", "b": b"none", "c": "h\xe9".encode(), "d": b"\0"}.items():
        (tmp_path / name).write_bytes(content)
    found = await ripgrep().sieve(Expression("h.t"), str(tmp_path), hidden=False, glob=None, names=SHOWN)
    assert sorted(found or []) == ["a", "d"]
    assert await ripgrep().sieve(Expression("(?<=h)it"), str(tmp_path), hidden=False, glob=None, names=SHOWN) is None
    assert (
        await ripgrep().sieve(Expression("hit"), str(tmp_path / "gone"), hidden=False, glob=None, names=SHOWN) is None
    )
    assert (
        await Ripgrep("/no/such/rg").sieve(Expression("hit"), str(tmp_path), hidden=False, glob=None, names=SHOWN)
        is None
    )
    by_name = await ripgrep().sieve(Expression("h.t"), str(tmp_path), hidden=False, glob="*.py", names=SHOWN)
    assert by_name == []


@pytest.mark.parametrize("rules", ["skipped\n", "skippe[d]\n"])
async def test_ripgrep_skips_what_is_ignored_only_where_it_reads_the_rules_as_git_does(
    tmp_path: Path, rules: str
) -> None:
    (tmp_path / "skipped").mkdir()
    (tmp_path / "skipped" / "a").write_text("hit")
    (tmp_path / ".gitignore").write_text(rules)
    found = await ripgrep().sieve(Expression("hit"), str(tmp_path), hidden=False, glob=None, names=SHOWN)
    assert found == ([] if "[" not in rules else ["skipped/a"])


@pytest.mark.parametrize(
    "pattern",
    [
        "(?i)a",
        "a*+",
        r"(a)\1",
        "(?=a)",
        r"\Aa",
        r"\n",
        "a{,2}",
        "a{",
        "[[:alpha:]]",
        r"\<a",
        "[a&&b]",
        "[é]",
        "a\nb",
        "\ud800",
    ],
)
def test_what_another_engine_may_read_otherwise_is_not_given_to_it(pattern: str) -> None:
    assert for_ripgrep(Expression(pattern)) is None


def test_lines() -> None:
    assert list(lines_of("a\r\nb\n\nc\rd\x0be\x85f\u2028g\r")) == ["a", "b", "", "c\rd\x0be\x85f\u2028g\r"]
    assert list(lines_of("\r\n\n")) == ["", ""]
    assert list(lines_of("")) == []


def test_of_an_endless_line_the_start_is_searched() -> None:
    def hits(pattern: str, text: str) -> list[tuple[int, int]]:
        return Expression(pattern).compiled().hits_in(text, 9)

    text = "x" * MAX_LINE + "hit"
    assert hits("hit", text) == []
    assert hits("x$", text) == []
    assert hits("^x", text) == [(0, 0)]
    assert hits("x$", "x" * MAX_LINE) == [(0, MAX_LINE - 1)]


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(patterns(), TEXT.map(bytes.decode))
def test_asking_the_whole_text_first_changes_nothing(expression: Expression, text: str) -> None:
    by_lines = LineMatcher.compiled(expression.pattern, None, ignore_case=expression.ignore_case)
    assert expression.compiled().hits_in(text, 9) == by_lines.hits_in(text, 9)


@pytest.mark.parametrize("pattern", [r"a\s+b", "a[^x]*b", r"a\W*b", r"a\D*b"])
def test_what_is_asked_of_a_whole_text_never_crosses_lines(pattern: str) -> None:
    of_text = Expression(pattern).compiled().of_text
    assert of_text is not None
    assert of_text.search("a\n\nb") is None
    assert Expression(r"a[\s,]*b").compiled().of_text is None


@pytest.mark.parametrize("pattern", [r"$\b", r"1$\b|2", "$^", "(1$)$"])
def test_an_end_before_something_is_asked_line_by_line(pattern: str) -> None:
    by_lines = LineMatcher.compiled(pattern, None, ignore_case=False)
    for text in ("1\r\n", "1\n", "2\r\n\r\n"):
        assert Expression(pattern).compiled().hits_in(text, 9) == by_lines.hits_in(text, 9)


async def test_a_worker_names_the_files_that_have_to_be_looked_at(tmp_path: Path) -> None:
    for name in ("a", ".h", "sub/b", "sub/skipped/c", "none"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("" if name == "none" else "hit")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "sub" / ".gitignore").write_text("skipped/")
    async with Workers(Expression("h(i+)t"), most_time=60) as workers:
        found = await workers.sieve(str(tmp_path), hidden=False, names=SHOWN)
        hidden = await workers.sieve(str(tmp_path), hidden=True, names=SHOWN)
        gone = await workers.sieve(str(tmp_path / "gone"), hidden=False, names=SHOWN)
    assert sorted(found or []) == ["a", "sub/b"]
    assert sorted(hidden or []) == [".h", "a", "sub/b"]
    assert gone is None


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(patterns(), TEXT.map(bytes.decode))
@example(Expression("\\.x", True), ".X")
@example(Expression("kx", True), "\u212ax")
def test_what_a_pattern_requires_is_in_every_text_that_matches(expression: Expression, text: str) -> None:
    assert expression.required.all_in(text) or not expression.compiled().hits_in(text, 1)


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("abc", ["abc"]),
        ("ab*c+d", ["a", "d"]),
        (r"\.a\t\d+(?:xy)?z$", [".a\t", "z"]),
        ("a(b|c)d", ["a", "d"]),
        ("ab|c", []),
        ("[ab]+", []),
        ("(?=a)b", []),
    ],
)
def test_what_a_pattern_requires(pattern: str, required: list[str]) -> None:
    assert list(Expression(pattern).required.texts) == required


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(patterns(), TEXT.map(bytes.decode))
async def test_ripgrep_lets_every_text_through_that_matches(expression: Expression, text: str) -> None:
    if for_ripgrep(expression) is not None and expression.compiled().hits_in(text, 1):
        assert await ripgrep().passes(expression, text)


async def test_ripgrep_is_asked_about_a_text() -> None:
    assert await ripgrep().passes(Expression("ab+c"), "x\nabbc\n")
    assert not await ripgrep().passes(Expression("ab+c"), "x\nab\0bc\n")
    assert not await ripgrep().passes(Expression("ab+c"), "")
    assert await Ripgrep("/no/such/rg").passes(Expression("ab+c"), "")


async def test_a_worker_that_dies_is_a_refusal() -> None:
    async with Workers(Expression("h(i+)t"), most_time=60) as workers:
        assert await workers.hits_in("hit", 1) == [(0, 0)]
        for worker in workers._all:
            worker._process.kill()
            await worker._process.wait()
        with pytest.raises(ToolRefusedError, match="ended unexpectedly"):
            await workers.hits_in("hit", 1)
        assert await workers.hits_in("hit", 1) == [(0, 0)]
